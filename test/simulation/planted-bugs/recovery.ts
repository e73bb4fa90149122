/** Planted bugs in recovery: the sweep, redeliveries, rechecks and dead letters. */
import type { PlantedBug } from './bug.ts';

const recover = 'lib/service/execution/sweep-runs.ts';
const mend = 'lib/service/execution/recover-run.ts';
const silence = 'lib/engine/log/heartbeat-timeout.ts';

export const recoveryBugs: readonly PlantedBug[] = [
  {
    name: 'a minute counts as swept before its runs are checked',
    file: recover,
    find: '    const { checked, recovered, failed } = await sweepMinute(decider, minute);',
    replace:
      '    await deps.index.recordSweptMinute(minute);\n    const { checked, recovered, failed } = await sweepMinute(decider, minute);',
    within: 200,
  },
  {
    name: 'a sweep that is behind skips the first due minute',
    file: recover,
    find: '(await deps.index.firstDueMinute(minute, last)) ?? last',
    replace: '(await deps.index.firstDueMinute(minute + 1, last)) ?? last',
    within: 200,
  },
  {
    name: 'the sweep takes a run that exists for one that has ended',
    file: 'lib/service/commit/mark-due.ts',
    find: '  terminalStatuses.some((terminal) => terminal === status) && hasExtendedDeadline !== true;',
    replace: '  terminalStatuses.some(() => status !== undefined) && hasExtendedDeadline !== true;',
    within: 60,
  },
  {
    name: 'the sweep does not retry a failed check',
    file: recover,
    find: 'await deps.index.markDue({ run: address, minute: Math.max(minuteOf(deps.clock.now()), minute) + 1, isRecordedOnRun: true });',
    replace: '',
    within: 200,
  },
  {
    name: 'the sweep trusts the run index about ended runs',
    file: recover,
    find: '  const fold = await readRunFold(deps, run);',
    replace:
      '  const listed = (await deps.index.list(run, { limit: 1 })).heads[0];\n  if (listed === undefined || listed.address.runId !== run.runId) return false;\n  const fold = await readRunFold(deps, run);',
    within: 60,
  },
  {
    name: 'the sweep does not repeat the finalization of an ended run',
    file: mend,
    find: 'if (!isFinalized) await finalizeRun(deps, fold);',
    replace: 'void [isFinalized, finalizeRun];',
    within: 60,
  },
  {
    name: 'a timed-out node is recorded as sent again and is not sent',
    file: mend,
    find: 'else await deps.jobs.send([kindOf(decider, fold.head).jobOf(fold.head, node.dispatchedIn, node, resends)]);',
    replace: 'else void resends;',
    scenario: 'a crashed branch beside a running one',
    within: 1,
  },
  {
    name: 'a sleeping run with a lost timer is not woken',
    file: mend,
    find: "if (node.status === 'waiting') await deps.jobs.sendDelayed(wakeJob(fold.head, node.dispatchedIn, node, resends), noDelay);",
    replace: "if (node.status === 'waiting') void noDelay;",
    faultProfile: 'lost alarms',
    within: 60,
    options: { code: 0, runs: 9 },
  },
  {
    name: 'the heartbeat of one node counts for all nodes of the run',
    file: silence,
    find: 'return openNodes(state).map((node) => [nodeKey(node), heartbeatStateOf(node, byNode.get(nodeKey(node)), now)]);',
    replace:
      'const newest = heartbeats.toSorted((one, other) => other.at - one.at)[0];\n  return openNodes(state).map((node) => [nodeKey(node), heartbeatStateOf(node, newest === undefined ? byNode.get(nodeKey(node)) : { ...newest, resends: 0 }, now)]);',
    scenario: 'a crashed branch beside a running one',
    within: 1,
  },
  {
    name: 'each node counts as timed out at once',
    file: silence,
    find: 'return now - lastSeenAt >= timeout\n',
    replace: 'return now - lastSeenAt >= timeout - timeout\n',
    within: 40,
    faultProfile: 'none',
  },
  {
    name: 'each check sends all open nodes again under new names',
    file: silence,
    find: 'const resends = current?.resends ?? 0;',
    replace:
      "const resends = current?.resends ?? 0;\n  if (node.status === 'queued' && heartbeat !== undefined) return { kind: 'timed_out', node, resends };",
    within: 60,
    faultProfile: 'none',
    options: { code: 0, poison: 0.15 },
  },
  {
    name: 'heartbeats are ignored',
    file: silence,
    find: 'const lastSeenAt = instant(Math.max(expectedAt, current?.at ?? expectedAt));',
    replace: 'const lastSeenAt = expectedAt;\n  void [instant, current?.at];',
    within: 40,
    faultProfile: 'none',
    options: { code: 1 },
  },
  {
    name: 'a heartbeat timeout fails the node',
    file: recover,
    find: "await notifyRun(decider, fold, [{ kind: 'recovered', nodes: resent }]);",
    replace:
      "await notifyRun(decider, fold, [...resent.flatMap((key) => { const node = fold.state.nodes.get(key); return node !== undefined && 'attempt' in node ? [{ kind: 'node-lost' as const, node, attempt: node.attempt, failure: { cause: 'lost' as const, code: 'recovery_error', message: 'silent' } }] : []; }), { kind: 'deadline-passed' }]);",
    within: 60,
  },
  {
    name: 'a redelivered job recovers nothing, and no sweep runs',
    file: 'lib/service/kinds/graph/run-node.ts',
    find: "if (delivery.isRedelivered) await recoverAndRecheck(worker, fold);\n  } else if (open.status === 'queued'",
    replace: "} else if (open.status === 'queued'",
    within: 60,
    faultProfile: 'lost answers',
    options: { withoutSweep: true, code: 0 },
  },
  {
    name: 'the sweep schedules the next check by its own clock only',
    file: recover,
    find: 'minute: Math.max(minuteOf(deps.clock.now()), minute) + 1',
    replace: 'minute: minuteOf(deps.clock.now()) + 1',
    within: 400,
    faultProfile: 'jumping clocks',
    options: { code: 1 },
  },
  {
    name: 'an attempt continues after its time limit',
    file: 'lib/service/kinds/graph/watch-attempt.ts',
    find: 'untilLimit: () => node.policy.timeoutMs + graceMs',
    replace: 'untilLimit: () => node.policy.timeoutMs * 100 + graceMs',
    scenario: 'an attempt that exceeds its time limit',
    within: 1,
  },
  {
    name: 'a worker starts an attempt that exceeds its remaining time',
    file: 'lib/service/kinds/graph/run-node.ts',
    find: 'between(deps.clock.now(), mustEndAt) >= wait + timeLimitOf(plan, next) + reserveMs;',
    replace: 'between(deps.clock.now(), mustEndAt) + timeLimitOf(plan, next) >= wait * 0 + reserveMs;',
    within: 200,
    faultProfile: 'none',
    options: { code: 0, runs: 8 },
  },
  {
    name: 'the sweep does not check a run at its deadline',
    file: silence,
    find: 'const checks: Instant[] = [deadlineCheckAt(deadlineAt, now)];',
    replace: 'const checks: Instant[] = [];\n  void deadlineCheckAt;',
    scenario: 'a run that waits past its deadline',
    within: 1,
  },
  {
    name: 'a sleeping run with a lost timer is checked half a day late',
    file: silence,
    find: 'const timerGrace: DurationMs = seconds(60);',
    replace: 'const timerGrace: DurationMs = hours(12);',
    within: 60,
    faultProfile: 'lost alarms',
    options: { code: 0, runs: 8 },
  },
  {
    name: 'a workflow task takes over the lost deliveries of another one',
    file: silence,
    find: 'byNode.get(key) ?? { node: key, at: latestHeartbeat.at, resends: 0 };',
    replace: 'byNode.get(key) ?? latestHeartbeat;',
    within: 60,
    options: { runs: 4, code: 0.7, cancelsCalled: true },
  },
  {
    name: 'a workflow task counts its own heartbeats only',
    file: silence,
    find: 'if (latestHeartbeat !== undefined)\n    for (const key of open.keys())',
    replace: 'if (latestHeartbeat !== undefined && open.size < 0) for (const key of open.keys())',
    within: 1,
    scenario: 'a workflow task that waits for another one',
    // A task that is sent again yields to the task of its run that a worker executes.
    and: [
      {
        file: 'lib/service/kinds/code/run-workflow-task.ts',
        find: 'const rivals = dueWorkflowTasksBeside(fold.state, openNode, deps.clock.now());',
        replace: 'const rivals: readonly OpenNode[] = [];',
      },
    ],
  },
];
