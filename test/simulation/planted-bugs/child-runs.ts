/** Planted bugs between a parent and its child runs. */
import type { PlantedBug } from './bug.ts';
import { calling, failing } from './fixed-codes.ts';

const callSubflow = 'lib/engine/graph/waits.ts';

export const childRunBugs: readonly PlantedBug[] = [
  {
    name: 'a cancelled child run counts as completed',
    file: callSubflow,
    find: "case 'cancelled':\n      return {",
    replace: "case 'cancelled':\n      if (childRunId.length > 0) return undefined;\n      return {",
    within: 60,
    options: { codes: [calling], cancelsCalled: true },
  },
  {
    name: 'a failed child run counts as completed',
    file: callSubflow,
    find: "case 'failed': {\n",
    replace: "case 'failed': {\n      if (childRunId.length > 0) return undefined;\n",
    within: 60,
    options: { codes: [calling, failing] },
  },
  {
    name: 'a child run is not created',
    file: 'lib/service/execution/reconcile-child.ts',
    find: 'fold === undefined ? await startChildRun(decider, caller, wait) : await readChildEnd(decider.deps, fold);',
    replace: 'fold === undefined ? void startChildRun : await readChildEnd(decider.deps, fold);',
    within: 20,
  },
  {
    name: 'the end of a child run is not committed to its parent',
    file: 'lib/service/execution/reconcile-child.ts',
    find: 'if (end === undefined) return;',
    replace: 'return;',
    within: 20,
  },
  {
    name: 'a child run continues after its parent stopped waiting',
    file: 'lib/service/runs/child-run.ts',
    find: 'await cancelRun(decider, child, `node ${caller.nodeId} of run ${caller.runId} no longer waits for this run`);',
    replace: 'void cancelRun;',
    within: 60,
    options: { code: 0 },
  },
  {
    name: 'a dead letter of a child run’s end does not notify its parent',
    file: 'lib/service/execution/handle-dead-letter.ts',
    find: "if (!isTerminal(fold.state.progress) && 'childRunId' in message) await notifyChildEnd(decider, fold, message);",
    replace: 'void notifyChildEnd;',
    scenario: 'the collector cannot read child runs',
    within: 1,
  },
  {
    name: 'the sweep does not check again for a run that does not exist yet',
    file: 'lib/service/execution/sweep-runs.ts',
    find: 'if (isSecondCheck !== true) await deps.index.markDue({ run, minute: secondCheckMinute, isSecondCheck: true });',
    replace: 'void [secondCheckMinute, isSecondCheck];',
    scenario: 'a child run created late',
    within: 1,
  },
  {
    name: 'a child run that is created after its parent ended continues',
    file: 'lib/service/execution/sweep-runs.ts',
    find: '    await requestChildCheck(deps, fold);',
    replace: '    void requestChildCheck;',
    scenario: 'a child run created after its parent ended',
    within: 1,
  },
];
