/** Planted bugs in the extension of deadlines and of what runs have stored. */
import type { Edit, PlantedBug } from './bug.ts';

const extend = 'lib/service/execution/extend-retention.ts';

const notSentAgain: Edit = {
  file: 'lib/service/commit/schedule-retention.ts',
  find: 'if (state.deadlineExtension.deadlineAt === extendedBefore) await sendRetention(deps, head, retentionDelay);',
  replace: 'void extendedBefore;',
};

export const longWaitBugs: readonly PlantedBug[] = [
  {
    name: 'an extension does not ask for a later expiry',
    file: 'lib/service/commit/dispatch-effects.ts',
    find: 'return scheduleRetention(deps, effect.fold.head);',
    replace: 'return void scheduleRetention;',
    // The sweep sends a message that it does not find handled.
    and: [notSentAgain],
    scenario: 'a long log that outlives its first expiry',
    within: 1,
  },
  {
    name: 'the retention job stops after its first page',
    file: extend,
    find: 'if (next === undefined) break;',
    replace: 'if (next === undefined || position === undefined) break;',
    scenario: 'a long log that outlives its first expiry',
    within: 1,
  },
  {
    name: 'the expiry does not move with the deadline',
    file: 'lib/engine/log/head.ts',
    find: 'expiresAt: after(head.expiresAt, between(head.deadlineAt, deadlineAt))',
    replace: 'expiresAt: after(head.expiresAt, between(deadlineAt, head.deadlineAt))',
    scenario: 'a long log that outlives its first expiry',
    within: 1,
  },
  {
    name: 'the items of an extended run keep their expiry',
    file: extend,
    find: 'await log.extendItems(head.address, head.expiresAt, page);',
    replace: 'await log.extendItems(head.address, head.createdAt, page);',
    scenario: 'a long log that outlives its first expiry',
    within: 1,
  },
  {
    name: 'the head is extended before the items',
    file: extend,
    find: '  for (;;) {\n    const next = await extendPage(deps, fold, position);',
    replace:
      '  await deps.log.extendHead(head.address, { deadlineAt: head.deadlineAt, expiresAt });\n  for (;;) {\n    const next = await extendPage(deps, fold, position);',
    scenario: 'a crash while a deadline is extended',
    within: 1,
  },
  {
    name: 'a lost retention message is not sent again',
    ...notSentAgain,
    scenario: 'a retention message that is lost',
    within: 1,
  },
  {
    name: 'a declared deadline is extended',
    file: 'lib/engine/deadline.ts',
    find: '    ? { deadlineAt }\n    : { deadlineAt, extension: { from: availableAt ?? createdAt, until: deadlineLimitAt } };',
    replace:
      '    ? { deadlineAt, extension: { from: createdAt, until: after(deadlineAt, defaultDeadline) } }\n    : { deadlineAt, extension: { from: availableAt ?? createdAt, until: deadlineLimitAt } };',
    scenario: 'a run that waits past its deadline',
    within: 1,
  },
];
