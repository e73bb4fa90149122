/** docs/PROOF.md says what the reports say. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { currentProof, proofFile } from '../simulation/write-proof.ts';

it('is what its commands wrote: after a change of a report, npm run proof', () => {
  expect(readFileSync(proofFile, 'utf8')).toBe(currentProof());
});
