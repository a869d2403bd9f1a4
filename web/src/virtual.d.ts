declare module "virtual:worker" {
  const source: string;
  export default source;
}
declare module "virtual:scenarios" {
  const scenarios: { name: string; title: string; text: string }[];
  export default scenarios;
}
