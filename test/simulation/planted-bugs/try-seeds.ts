/** Tries the seeds of a planted bug until one reports a violation. It uses the sources that this process has loaded. */
import { simulateDevKit } from '../devkit/simulate-devkit.ts';
import { scenarios } from '../scenarios.ts';
import { simulate } from '../simulation.ts';
import type { PlantedBug } from './bug.ts';
import type { Found } from './find-bug.ts';
import { faultProfiles } from './fault-profiles.ts';

/** @param to the last seed */
export async function trySeeds(
  { faultProfile = 'chaos', options, scenario, kind }: PlantedBug,
  from: number,
  to: number,
): Promise<Found> {
  const rates = faultProfiles[faultProfile];
  const simulated = (seed: number): Promise<unknown> =>
    kind === 'devkit' ? simulateDevKit({ rates, seed }) : simulate({ ...options, rates, seed });
  const play = scenario === undefined ? simulated : scenarios[scenario];
  for (let seed = from; seed <= to; seed += 1) {
    try {
      await play(seed);
    } catch (thrown) {
      const isCatch = thrown instanceof Error && /^(Violation|InvariantViolation)$/.test(thrown.name);
      // Any other error is a failure of the simulation and does not count as caught.
      if (isCatch) return { kind: 'caught', seed, by: thrown.message };
      return { kind: 'broke', seed, by: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown) };
    }
  }
  return { kind: 'survived', seed: to };
}
