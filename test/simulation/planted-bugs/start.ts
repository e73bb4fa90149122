/** Planted bugs in the start of a run. */
import type { PlantedBug } from './bug.ts';

const beginRun = 'lib/service/runs/begin-run.ts';
const createRun = 'lib/service/runs/create-run.ts';
const startAndWait = 'lib/service/runs/start-and-wait.ts';
const control = 'lib/memory/control.ts';

const waiting = { code: 0.3, runs: 6, awaited: 1 } as const;

export const startBugs: readonly PlantedBug[] = [
  {
    name: 'a start is acknowledged before its run exists',
    file: beginRun,
    find: 'if (head !== undefined) return resultFor(head, reservation, isReplay);',
    replace:
      "if (head === undefined) return { kind: 'started', runId: reservation.runId, deploymentId: null, isReplay };\n    return resultFor(head, reservation, isReplay);",
    within: 60,
  },
  {
    name: 'each request creates a run with a new nonce',
    file: createRun,
    find: 'nonce: nonce(owner),',
    replace: 'nonce: deps.ids.nonce(),',
    within: 40,
  },
  {
    name: 'a reservation takes an idempotency key that is already reserved',
    file: control,
    find: "if (existing !== undefined && existing.reservedAt >= notBefore) return { kind: 'taken', by: existing };",
    replace: '',
    within: 40,
  },
  {
    name: 'an idempotency key expires too early',
    file: beginRun,
    find: 'notBefore: instant(now - idempotencyTtlMs),',
    replace: 'notBefore: now,',
    within: 40,
  },
  {
    name: 'a failed start releases its idempotency key although its run may exist',
    file: beginRun,
    find: 'const created = await createRun(decider, mayTake ? { ...terms, takesUnwritten } : terms, reservation, resolved, now);',
    replace:
      'const created = await createRun(decider, mayTake ? { ...terms, takesUnwritten } : terms, reservation, resolved, now).catch(async (error: unknown) => {\n    await release();\n    throw error;\n  });',
    scenario: 'a start whose response is lost',
    within: 1,
  },
  {
    name: 'a repeated start gets a new run id',
    file: beginRun,
    find: "const reservation = reserved.kind === 'taken' ? reserved.by : proposed;",
    replace: "const reservation = reserved.kind === 'taken' ? { ...reserved.by, runId: proposed.runId } : proposed;",
    within: 40,
  },
  {
    name: 'a new run is not scheduled for a sweep',
    file: createRun,
    find: 'await mark(checkAt);',
    replace: 'void mark;',
    within: 60,
  },
  {
    name: 'a run is scheduled for a sweep only after it exists',
    file: createRun,
    find: 'await mark(checkAt);',
    replace: 'void mark;',
    and: [
      {
        file: createRun,
        find: 'await writeHead(decider, prepared, request.alongside);',
        replace:
          'await writeHead(decider, prepared, request.alongside);\n  await markRunDue(deps, { address, isTest: isTest(resolved) }, after(deps.clock.now(), firstCheckDelay));',
      },
    ],
    within: 60,
  },
  {
    name: 'the first jobs of a run are not sent',
    file: createRun,
    find: 'await dispatchEffects(decider, fold, creation.commit, isOwn && copied.length === 0);',
    replace: 'void dispatchEffects;',
    within: 10,
    faultProfile: 'none',
    options: { withoutSweep: true },
  },
  {
    name: 'an idempotency key is shared between environments',
    file: control,
    find: 'JSON.stringify([scopeName(scope), endpoint, key]);',
    replace: 'JSON.stringify([endpoint, key]);',
    within: 60,
  },
  {
    name: 'a start does not compare the request of a reused idempotency key',
    file: beginRun,
    find: "if (reservation.bodyHash !== request.bodyHash) return { kind: 'idempotency_conflict' };",
    replace: '',
    within: 60,
  },
  {
    name: 'a start that waits sends its first job to the queue too',
    file: 'lib/service/commit/effects.ts',
    find: "if (event.via !== 'inline') readyJobs.push",
    replace: "if (event.via !== 'inline' || commit.number === 1) readyJobs.push",
    within: 20,
    faultProfile: 'none',
    options: waiting,
  },
  {
    name: 'a start that waits takes the end of its function for the end of its run',
    file: startAndWait,
    find: "const end = called?.kind === 'ended' ? called.end : undefined;",
    replace:
      "const end = called?.kind === 'ended' ? (called.end ?? { status: 'completed' as const, endedAt: until, output: { value: null } }) : undefined;",
    within: 20,
    options: waiting,
  },
  {
    name: 'a called worker says that a run has ended while its nodes run',
    file: 'lib/service/run-log/fold-cache.ts',
    find: 'return progress !== undefined && isTerminal(progress) ? progress : undefined;',
    replace:
      "if (progress === undefined || isTerminal(progress)) return progress;\n    return { status: 'completed', endedAt: 0 as never, output: { value: null } };",
    within: 20,
    options: waiting,
  },
];
