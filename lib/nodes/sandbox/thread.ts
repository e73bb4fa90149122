/** Entry point of the script thread: runs one script at a time. */
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../../engine/invariant.ts';
import type { Script } from './script.ts';
import { createScriptRunner } from './virtual-machine.ts';

const { wasm }: { readonly wasm: WebAssembly.Module } = workerData;
const port = parentPort;
invariant(port !== null, 'the script thread must run as a worker thread');

const run = createScriptRunner(wasm);
port.on('message', (script: Script) => {
  void run(script).then((end) => port.postMessage(end));
});
port.postMessage('ready');
