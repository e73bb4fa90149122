/** A planted bug: an intentional edit of the sources, and the faults with which the simulation must detect it. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SimulationOptions } from '../simulation.ts';
import type { ScenarioName } from '../scenarios.ts';
import type { FaultProfile } from './fault-profiles.ts';

export interface Edit {
  /** path from the root of the project */
  readonly file: string;
  /** occurs exactly once in the file */
  readonly find: string;
  readonly replace: string;
}

export interface PlantedBug extends Edit {
  /** the effect of the bug */
  readonly name: string;
  /** the simulation must detect the bug within the seeds from 1 to this number */
  readonly within: number;
  /** default: all faults */
  readonly faultProfile?: FaultProfile;
  /** options that make the edited code run often */
  readonly options?: Omit<SimulationOptions, 'seed' | 'rates' | 'planted' | 'onCommit' | 'aims'>;
  /** further edits that the bug needs; a comment at the bug gives the reason */
  readonly and?: readonly Edit[];
  /** the scenario that must detect the bug, instead of random simulations */
  readonly scenario?: ScenarioName;
  /** runs of the Workflow DevKit, instead of graph and code runs */
  readonly kind?: 'devkit';
  /** the search takes too long for the tests: only the command runs it */
  readonly isSlow?: true;
}

const root = join(import.meta.dirname, '../../..');

export const editsOf = ({ file, find, replace, and = [] }: PlantedBug): readonly Edit[] => [{ file, find, replace }, ...and];

/** Hash of everything that affects the search. A report row with another fingerprint is out of date. */
export const fingerprint = ({ name: _name, ...made }: PlantedBug): string =>
  createHash('sha256').update(JSON.stringify(made)).digest('hex').slice(0, 12);

/** Why the edit does not match its file; undefined where it does. */
export function describeMismatch({ file, find, replace }: Edit): string | undefined {
  const times = readFileSync(join(root, file), 'utf8').split(find).length - 1;
  if (times !== 1) return `${file} has ${times} times: ${find}`;
  return find === replace ? `${file} is not changed by: ${find}` : undefined;
}

export const applyEdit = (source: string, { find, replace }: Edit): string => source.replace(find, () => replace);
