/** Ranges of seeds, and the test whether a seed catches a planted bug. */
import { expect } from 'vitest';
import { type SimulationOptions, simulate } from './simulation.ts';

export const seeds = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);

/** Whether one of so many seeds shows the bug as a rule that does not hold. */
export async function isCaught(options: Omit<SimulationOptions, 'seed'>, mostSeeds: number): Promise<boolean> {
  for (const seed of seeds(mostSeeds)) {
    try {
      await simulate({ ...options, seed });
    } catch (trouble) {
      // Any other error would be a fault of the simulation, which must not pass for a catch.
      expect(trouble instanceof Error ? trouble.name : trouble).toMatch(/^(Violation|InvariantViolation)$/);
      return true;
    }
  }
  return false;
}
