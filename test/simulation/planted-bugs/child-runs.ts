/** Planted bugs between a parent and its child runs. */
import type { PlantedBug } from './bug.ts';
import { calling, failing } from './fixed-codes.ts';

const inPlace = 'lib/service/execution/calls-in-place.ts';
const tasksInPlace = 'lib/service/kinds/code/execute-tasks.ts';
const forCode = 'lib/service/execution/reconcile-for-code.ts';
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
  {
    name: 'a call that a worker takes is not executed',
    file: inPlace,
    find: '() => this.#start(job));',
    replace: 'async () => void job);',
    within: 1,
    scenario: 'a called run in the worker of its caller',
  },
  {
    name: 'the first job of a run that is called in place is lost',
    file: inPlace,
    find: 'if (first !== undefined) await this.worker.executions.graph.execute(this.worker, first, this.#delivery);',
    replace: 'void first;',
    within: 1,
    scenario: 'a called run in the worker of its caller',
  },
  {
    name: 'the nodes after a call in place are not executed',
    file: inPlace,
    find: 'await continuation(this.#delivery);',
    replace: 'void continuation;',
    within: 1,
    scenario: 'a called run in the worker of its caller',
  },
  {
    name: 'an end that is not committed in place is not sent either',
    file: inPlace,
    find: 'return continuation !== undefined;',
    replace: 'return true;',
    within: 1,
    scenario: 'a called run beside other work of its caller',
  },
  {
    name: 'a worker keeps the first job of deployed code',
    file: 'lib/service/runs/start-child-run.ts',
    find: "runsFirst: 'version' in resolved ? runsFirst : undefined,",
    replace: 'runsFirst,',
    within: 60,
    faultProfile: 'none',
    options: { withoutSweep: true },
  },
  {
    name: 'a task that follows from a call of code is not executed',
    file: tasksInPlace,
    find: 'this.#work.add(() => runWorkflowTask(this.worker, task, this.#delivery));',
    replace: 'void task;',
    within: 60,
    faultProfile: 'none',
    options: { codes: [calling], withoutSweep: true },
  },
  {
    name: 'the next task of a caller runs beside the one that it has',
    file: forCode,
    find: ' || openNodes(caller.state).length > 1',
    replace: '',
    within: 100,
    faultProfile: 'none',
    options: { runs: 8 },
  },
];
