/** Ranges of seeds, and the test whether a seed catches a planted bug. */
import { expect } from 'vitest';
import { type SimulationOptions, simulate } from './simulation.ts';

export const seeds = (count: number, first = 1): readonly number[] => Array.from({ length: count }, (_, index) => first + index);

/** Whether one of the seeds reports the bug as a violation. */
export async function isCaught(options: Omit<SimulationOptions, 'seed'>, mostSeeds: number): Promise<boolean> {
  for (const seed of seeds(mostSeeds)) {
    try {
      await simulate({ ...options, seed });
    } catch (thrown) {
      // Any other error is a failure of the simulation and does not count as caught.
      expect(thrown instanceof Error ? thrown.name : thrown).toMatch(/^(Violation|InvariantViolation)$/);
      return true;
    }
  }
  return false;
}
