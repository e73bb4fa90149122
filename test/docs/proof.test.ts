/** docs/PROOF.md says what the reports say. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { currentProof, proofFile } from '../simulation/write-proof.ts';

it('is what its commands wrote: after a change of a report, npm run proof', () => {
  expect(readFileSync(proofFile, 'utf8')).toBe(currentProof());
});

it('is written by the command that it names', () => {
  expect(execFileSync('npm', ['run', 'proof'], { encoding: 'utf8' })).toContain(`${proofFile} is written`);
});
