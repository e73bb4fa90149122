/** The fingerprint of the code that determines the simulation of a seed. Counts with different fingerprints are not comparable. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chaosFaults } from './faults.ts';

/** The modules that draw workflows and the requests of clients. */
const fingerprintedFiles = [
  'random-graph.ts',
  'random-code.ts',
  'clients.ts',
  'list-clients.ts',
  'signal-clients.ts',
  'start-clients.ts',
  'simulation.ts',
  'options-of-seed.ts',
];

/** Covers the fault rates and all modules that draw. */
export function simulationFingerprint(): string {
  const hash = createHash('sha256').update(JSON.stringify(chaosFaults));
  for (const file of fingerprintedFiles) hash.update(readFileSync(join(import.meta.dirname, file)));
  return hash.digest('hex').slice(0, 12);
}
