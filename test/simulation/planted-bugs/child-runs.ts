/** Bugs between a run and those that it calls. */
import type { PlantedBug } from './bug.ts';
import { calling, failing } from './fixed-codes.ts';

const callSubflow = 'lib/engine/graph/call-subflow.ts';

export const childRunBugs: readonly PlantedBug[] = [
  {
    name: 'a called run that was cancelled counts as one that did well',
    file: callSubflow,
    find: "case 'cancelled':\n      return {",
    replace: "case 'cancelled':\n      if (childRunId.length > 0) return undefined;\n      return {",
    within: 60,
    options: { codes: [calling], cancelsCalled: true },
  },
  {
    name: 'a called run that failed counts as one that did well',
    file: callSubflow,
    find: "case 'failed': {\n",
    replace: "case 'failed': {\n      if (childRunId.length > 0) return undefined;\n",
    within: 60,
    options: { codes: [calling, failing] },
  },
  {
    name: 'a run that is called is made by nobody',
    file: 'lib/service/execution/reconcile-child.ts',
    find: 'fold === undefined ? await startChildRun(decider, caller, wait) : await readChildEnd(decider.deps, fold);',
    replace: 'fold === undefined ? void startChildRun : await readChildEnd(decider.deps, fold);',
    within: 20,
  },
  {
    name: 'the end of a called run is put on no record of its caller',
    file: 'lib/service/execution/reconcile-child.ts',
    find: 'if (end === undefined) return;',
    replace: 'return;',
    within: 20,
  },
  {
    name: 'a called run that nobody waits for any more goes on',
    file: 'lib/service/execution/reconcile-child.ts',
    find: 'await cancelRun(decider, child, `node ${caller.nodeId} of run ${caller.runId} no longer waits for this run`);',
    replace: 'void cancelRun;',
    within: 60,
    options: { code: 0 },
  },
  {
    name: 'the end of one of many called runs that nobody could collect is told by nobody',
    file: 'lib/service/execution/handle-dead-letter.ts',
    find: "if (!isTerminal(fold.state.progress) && 'childRunId' in message) await notifyChildEnd(decider, fold, message);",
    replace: 'void notifyChildEnd;',
    scenario: 'ends that nobody can collect',
    within: 1,
  },
  {
    name: 'a run that is not there when it is to be looked at is never looked for again',
    file: 'lib/service/execution/sweep-runs.ts',
    find: 'if (isSecondCheck !== true) await deps.index.markDue({ run, minute: secondCheckMinute, isSecondCheck: true });',
    replace: 'void [secondCheckMinute, isSecondCheck];',
    scenario: 'a run that comes late',
    within: 1,
  },
  {
    name: 'a called run that was made after its caller had left goes on for nobody',
    file: 'lib/service/execution/sweep-runs.ts',
    find: '    await requestChildCheck(deps, fold);',
    replace: '    void requestChildCheck;',
    scenario: 'a run that is made for nobody',
    within: 1,
  },
];
