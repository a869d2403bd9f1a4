declare module "virtual:worker" {
  const source: string;
  export default source;
}
declare module "virtual:scenarios" {
  const scenarios: { name: string; title: string; text: string }[];
  export default scenarios;
}
declare module "virtual:parquet.worker" {
  const source: string;
  export default source;
}
declare module "virtual:guides" {
  const guides: { name: string; title: string; summary: string; html: string }[];
  export default guides;
}
declare module "virtual:teaching" {
  const scenarios: Record<string, string>;
  export default scenarios;
}
