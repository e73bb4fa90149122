#!/usr/bin/env node
// `stepwell`: the command line, on the Node that came with the project where the machine's own is too old.
import { fileURLToPath } from 'node:url';
import { startProgram } from './check-node.mjs';

await startProgram(fileURLToPath(new URL('../lib/cli/main.ts', import.meta.url)), process.argv.slice(2));
