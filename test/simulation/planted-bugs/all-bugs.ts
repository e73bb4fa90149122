/** All planted bugs. */
import type { PlantedBug } from './bug.ts';
import { batchBugs } from './batches.ts';
import { cancelBugs } from './cancellation.ts';
import { childRunBugs } from './child-runs.ts';
import { codeBugs } from './code.ts';
import { commitBugs } from './commits.ts';
import { workerCrashBugs } from './worker-crashes.ts';
import { devKitBugs } from './devkit.ts';
import { effectBugs } from './effects.ts';
import { nodeInputBugs } from './node-inputs.ts';
import { joinAndEdgeBugs } from './joins-and-edges.ts';
import { runListBugs } from './run-lists.ts';
import { longWaitBugs } from './long-waits.ts';
import { loopBugs } from './loops.ts';
import { faultDependentBugs } from './fault-dependent.ts';
import { slotBugs } from './concurrency-slots.ts';
import { readerBugs } from './readers.ts';
import { packBugs } from './packs.ts';
import { recoveryBugs } from './recovery.ts';
import { rerunBugs } from './reruns.ts';
import { resumeBugs } from './resume.ts';
import { sendBugs } from './sends.ts';
import { signalBugs } from './signals.ts';
import { startBugs } from './start.ts';
import { shortChainBugs } from './short-chains.ts';
import { snapshotBugs } from './snapshots.ts';
import { unwrittenRunBugs } from './unwritten-runs.ts';
import { versionBugs } from './versions.ts';
import { harmlessEdits } from './harmless-edits.ts';

export const plantedBugs: readonly PlantedBug[] = [
  ...loopBugs,
  ...startBugs,
  ...batchBugs,
  ...recoveryBugs,
  ...workerCrashBugs,
  ...codeBugs,
  ...signalBugs,
  ...sendBugs,
  ...commitBugs,
  ...joinAndEdgeBugs,
  ...childRunBugs,
  ...readerBugs,
  ...slotBugs,
  ...versionBugs,
  ...resumeBugs,
  ...effectBugs,
  ...cancelBugs,
  ...runListBugs,
  ...nodeInputBugs,
  ...snapshotBugs,
  ...faultDependentBugs,
  ...longWaitBugs,
  ...rerunBugs,
  ...devKitBugs,
  ...packBugs,
  ...unwrittenRunBugs,
  ...shortChainBugs,
];

export function findBugByName(name: string): PlantedBug {
  const bug = [...plantedBugs, ...harmlessEdits].find((each) => each.name === name);
  if (bug === undefined) throw new Error(`no bug is called ${name}`);
  return bug;
}
