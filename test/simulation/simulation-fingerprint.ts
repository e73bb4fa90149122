/** What decides which worlds there are for a seed: counts of one set of them say nothing of another. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chaosFaults } from './faults.ts';

/** What draws workflows, and what clients do to their runs. */
const fingerprintedFiles = [
  'random-graph.ts',
  'random-code.ts',
  'clients.ts',
  'lookers.ts',
  'senders.ts',
  'starters.ts',
  'world.ts',
  'world-of-seed.ts',
];

/** Of the classes of faults with their rates, and of all that is drawn. */
export function simulationFingerprint(): string {
  const hash = createHash('sha256').update(JSON.stringify(chaosFaults));
  for (const file of fingerprintedFiles) hash.update(readFileSync(join(import.meta.dirname, file)));
  return hash.digest('hex').slice(0, 12);
}
