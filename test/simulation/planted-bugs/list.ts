/** Every bug that is planted. */
import type { PlantedBug } from './bug.ts';
import { inCancels } from './cancels.ts';
import { inChildren } from './children.ts';
import { inCode } from './code.ts';
import { inCommits } from './commits.ts';
import { inDeaths } from './deaths.ts';
import { inEffects } from './effects.ts';
import { inGiven } from './given.ts';
import { inJoinsAndEdges } from './joins-and-edges.ts';
import { inLists } from './lists.ts';
import { inLoops } from './loops.ts';
import { inOccasions } from './occasions.ts';
import { inPlaces } from './places.ts';
import { inReaders } from './readers.ts';
import { inRecovery } from './recovery.ts';
import { inResumptions } from './resumptions.ts';
import { inSends } from './sends.ts';
import { inSignals } from './signals.ts';
import { inStart } from './start.ts';
import { inStoredFolds } from './stored-folds.ts';
import { inVersions } from './versions.ts';
import { noBugs } from './no-bugs.ts';

export const plantedBugs: readonly PlantedBug[] = [
  ...inLoops,
  ...inStart,
  ...inRecovery,
  ...inDeaths,
  ...inCode,
  ...inSignals,
  ...inSends,
  ...inCommits,
  ...inJoinsAndEdges,
  ...inChildren,
  ...inReaders,
  ...inPlaces,
  ...inVersions,
  ...inResumptions,
  ...inEffects,
  ...inCancels,
  ...inLists,
  ...inGiven,
  ...inStoredFolds,
  ...inOccasions,
];

export function bugCalled(name: string): PlantedBug {
  const bug = [...plantedBugs, ...noBugs].find((each) => each.name === name);
  if (bug === undefined) throw new Error(`no bug is called ${name}`);
  return bug;
}
