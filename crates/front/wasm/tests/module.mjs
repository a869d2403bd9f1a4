// Asks a module of crates/front/wasm as a page does: `node module.mjs MODULE`, a question in each
// line of the input; in each line of the output the kind of the answer and its bytes in hexadecimal
// digits. Instances without imports fail where the module needs any.
import { readFileSync } from "node:fs";

const [module, input] = [process.argv[2], 0].map(file => readFileSync(file));
const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module), {});
const { memory, incast_room, incast_ask, incast_answer, incast_answer_length } = exports;

const answers = input.toString().trimEnd().split("\n").map(question => {
  const bytes = Buffer.from(question);
  // The memory may grow, and its buffer with it: each view is made anew.
  const room = incast_room(bytes.length);
  new Uint8Array(memory.buffer, room, bytes.length).set(bytes);
  const kind = incast_ask();
  const answer = Buffer.from(memory.buffer, incast_answer(), incast_answer_length());
  return `${kind} ${answer.toString("hex")}\n`;
});
process.stdout.write(answers.join(""));
