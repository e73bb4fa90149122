/** The thread that scripts run on: one at a time, each in a machine of its own. Its host gives it both of its values. */
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../../engine/invariant.ts';
import type { Script } from './script.ts';
import { runInMachine } from './virtual-machine.ts';

const { wasm }: { readonly wasm: WebAssembly.Module } = workerData;
const port = parentPort;
invariant(port !== null, 'the script thread was started as a program of its own');

port.on('message', (script: Script) => {
  void runInMachine(wasm, script).then((end) => port.postMessage(end));
});
port.postMessage('ready');
