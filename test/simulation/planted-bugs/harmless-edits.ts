/** Edits that are not bugs, to test that the search reports only bugs. */
import type { PlantedBug } from './bug.ts';

const take = { file: 'lib/memory/control.ts', find: 'const existing = this.#reservations.get(name);', within: 2 } as const;

export const commentOnlyEdit: PlantedBug = { ...take, name: 'nothing at all', replace: `${take.find} // As it was.` };

export const processExitEdit: PlantedBug = {
  ...take,
  name: 'the end of its process',
  replace: `${take.find}\n    process.exit(3);`,
};

export const simulatorErrorEdit: PlantedBug = {
  ...take,
  name: 'a fault that breaks no rule',
  replace: `${take.find}\n    throw new RangeError('by no rule');`,
};

export const harmlessEdits: readonly PlantedBug[] = [commentOnlyEdit, processExitEdit, simulatorErrorEdit];
