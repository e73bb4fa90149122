#!/usr/bin/env node
// `stepwell`: the command line. Uses the Node of the package if the machine's Node is too old.
import { fileURLToPath } from 'node:url';
import { startProgram } from './check-node.mjs';

await startProgram(fileURLToPath(new URL('../lib/cli/main.ts', import.meta.url)), process.argv.slice(2));
