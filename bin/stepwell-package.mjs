#!/usr/bin/env node
// `stepwell`, as the package brings it: the command line, which asks for the Node that reads TypeScript as it is.
const oldestMajor = 24;
if (Number(process.versions.node.split('.')[0]) < oldestMajor) {
  console.error(`stepwell needs Node ${oldestMajor} or newer, and found ${process.versions.node}`);
  process.exit(1);
}
await import('../cli/main.js');
