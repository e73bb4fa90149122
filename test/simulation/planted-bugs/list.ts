/** Every bug that is planted. */
import type { PlantedBug } from './bug.ts';
import { inCommits } from './commits.ts';
import { inSends } from './sends.ts';

export const plantedBugs: readonly PlantedBug[] = [...inCommits, ...inSends];

export function bugCalled(name: string): PlantedBug {
  const bug = plantedBugs.find((each) => each.name === name);
  if (bug === undefined) throw new Error(`no bug is called ${name}`);
  return bug;
}
