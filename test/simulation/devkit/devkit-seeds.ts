/** Many seeds of runs of the Workflow DevKit, and what they must have met. */
import { expect } from 'vitest';
import { type FaultProfile, faultProfiles } from '../planted-bugs/fault-profiles.ts';
import { simulateDevKit } from './simulate-devkit.ts';

interface Row {
  readonly profile: FaultProfile;
  readonly from: number;
  readonly count: number;
}

/** @throws the first violation, with its seed */
export async function checkDevKitSeeds({ profile, from, count }: Row): Promise<void> {
  const met = { conflicts: 0, received: 0, commits: 0, chunksRead: 0, largeRead: 0 };
  for (let seed = from; seed < from + count; seed += 1) {
    const report = await simulateDevKit({ seed, rates: faultProfiles[profile] }).catch((cause: unknown) => {
      throw new Error(`seed ${seed} with the faults '${profile}'`, { cause });
    });
    met.conflicts += report.conflicts;
    met.received += report.received;
    met.commits += report.commits;
    met.chunksRead += report.chunksRead;
    met.largeRead += report.largeRead;
  }
  // A row that meets nothing shows nothing.
  expect(met.conflicts, 'hardly any hook was refused for its token').toBeGreaterThan(count / 4);
  expect(met.received, 'hardly any hook was resumed').toBeGreaterThan(count);
  expect(met.chunksRead, 'hardly any stream was read').toBeGreaterThan(count * 10);
  expect(met.largeRead, 'hardly any large value was read').toBeGreaterThan(count);
  expect(met.commits, 'hardly any event was recorded').toBeGreaterThan(count * 30);
}
