/** A planted bug: an intentional edit of the sources, and the faults with which the simulation must detect it. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SimulationOptions } from '../simulation.ts';
import type { ScenarioName } from '../scenarios.ts';
import type { FaultProfile } from './fault-profiles.ts';

export interface Edit {
  /** from the root of the project */
  readonly file: string;
  /** is in the file exactly once */
  readonly find: string;
  readonly replace: string;
}

export interface PlantedBug extends Edit {
  /** what is so, once it is planted */
  readonly name: string;
  /** seeds, from 1, of which one has to show it */
  readonly within: number;
  /** rough, where nothing is said */
  readonly faultProfile?: FaultProfile;
  /** what makes its place a busy one */
  readonly options?: Omit<SimulationOptions, 'seed' | 'rates' | 'planted' | 'onCommit' | 'aims'>;
  /** other strings that hold it too, and are cut with it: why is said beside them */
  readonly and?: readonly Edit[];
  /** it is looked for in a scene, and not in random worlds */
  readonly scenario?: ScenarioName;
  /** too long a search for every change: only the command looks for it, and its report says what it found */
  readonly isSlow?: true;
}

const root = join(import.meta.dirname, '../../..');

export const editsOf = ({ file, find, replace, and = [] }: PlantedBug): readonly Edit[] => [{ file, find, replace }, ...and];

/** Of all that a search for it is made of, and of nothing else: a report of another one says nothing of this one. */
export const fingerprint = ({ name: _name, ...made }: PlantedBug): string =>
  createHash('sha256').update(JSON.stringify(made)).digest('hex').slice(0, 12);

/** Why the edit does not fit its file; undefined where it does. */
export function describeMismatch({ file, find, replace }: Edit): string | undefined {
  const times = readFileSync(join(root, file), 'utf8').split(find).length - 1;
  if (times !== 1) return `${file} has ${times} times: ${find}`;
  return find === replace ? `${file} is not changed by: ${find}` : undefined;
}

export const applyEdit = (source: string, { find, replace }: Edit): string => source.replace(find, () => replace);
