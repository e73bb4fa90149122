/**
 * Starts runs, as a client in a process of its own: its processor time must not count as that of the embedded cloud.
 * `node bench/processor-client.ts <url> <key> <name> <count> <parallel>` with the body of a start on standard input.
 */
import { text } from 'node:stream/consumers';

const [url, apiKey, name, count, parallel] = process.argv.slice(2);
const body = await text(process.stdin);
let next = 0;

async function startOne(number: number): Promise<void> {
  const response = await fetch(`${url}/v1/runs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', 'idempotency-key': `${name}-${number}` },
    body,
  });
  if (response.status !== 202) throw new Error(`a start was answered with ${response.status}: ${await response.text()}`);
  await response.arrayBuffer();
}

async function start(): Promise<void> {
  while (next < Number(count)) {
    next += 1;
    await startOne(next);
  }
}

await Promise.all(Array.from({ length: Number(parallel) }, start));
