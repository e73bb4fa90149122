/**
 * A round: one cloud on one folder under load is killed repeatedly, then completes its runs, and its tables are checked. The seed
 * determines the kills, their times and the clients' actions; the timing of the machine determines what they interrupt.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Prng } from '../../simulation/prng.ts';
import { runInvariant } from '../../simulation/violation.ts';
import { Clients } from './clients.ts';
import { CloudTime } from './cloud-time.ts';
import { type Known, type RoundResult, type Evidence, compare, checkRound } from './check-round.ts';
import { type KillableCloud, startKillableCloud } from './killable-cloud.ts';
import { type EffectServer, openEffectServer } from './effect-server.ts';
import { type Reading, Tables, readTables } from './tables.ts';

export type Kill = 'whole' | 'thread';

export interface RoundOptions {
  readonly seed: number;
  readonly kills: readonly Kill[];
  /** a state folder with all published workflows and deployed code */
  readonly prepared: string;
}

export interface RoundReport {
  /** kills of threads by function, and of everything as `whole` */
  readonly kills: Readonly<Record<string, number>>;
  readonly restarts: number;
  readonly result: RoundResult;
  /** from the last kill until every run ended, by the machine's clock and by the cloud's, in milliseconds */
  readonly timeToSettleMs: number;
  readonly cloudTimeToSettleMs: number;
}

/** A cloud without open runs, for tests that inspect or change it. */
export interface SettledRound {
  readonly report: RoundReport;
  readonly tables: Tables;
  readonly evidence: Evidence;
  readonly reading: Reading;
}

/** How long a machine was off or asleep before a restart. */
const offMs = [0, 0, 0, 70_000, 200_000, 1_000_000];
/** By the cloud's clock: half a day of sweeps; no run of the load sleeps for more than half an hour. */
const mostRestMs = 12 * 3_600_000;

export async function runRound(
  options: RoundOptions,
  look: (settled: SettledRound) => Promise<void> = async () => {},
): Promise<RoundReport> {
  const prng = new Prng(options.seed);
  const time = new CloudTime();
  const outside = await openEffectServer();
  const folder = copyOf(options.prepared);
  const restartable = new RestartableCloud(folder, outside, time);
  const clients = new Clients(new Prng(options.seed + 1_000_003), time, restartable.cloud.started);
  try {
    const working = clients.work();
    // A violation that a client sees ends the round at once.
    const kills = await Promise.race([
      killRepeatedly(options.kills, prng, { restartable, clients, time }),
      working.then(() => new Map<string, number>()),
    ]);
    clients.finish();
    const from = { at: Date.now(), cloud: time.now() };
    await working;
    const tables = new Tables((await restartable.cloud.started).tables);
    await waitUntilSettled(tables, restartable, time);
    const rest = { timeToSettleMs: Date.now() - from.at, cloudTimeToSettleMs: time.now() - from.cloud };
    const reading = await readTables(tables);
    compare(reading, restartable.known);
    const evidence = { facts: clients, effects: outside.effects, time };
    const result = await checkRound(reading, evidence);
    const report = { kills: Object.fromEntries(kills), restarts: restartable.restarts, result, ...rest };
    await look({ report, tables, evidence, reading });
    return report;
  } finally {
    clients.leave();
    await restartable.cloud.kill();
    await outside.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The state is a copy; the template and the compiled code are those of all rounds. */
function copyOf(prepared: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'stepwell-kills-'));
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(prepared)) {
    if (['cloud-assembly', 'cache'].includes(name)) symlinkSync(join(prepared, name), join(folder, name));
    else if (!['lock.sqlite', 'ephemeral', 'logs', 'local.json'].includes(name))
      cpSync(join(prepared, name), join(folder, name), { recursive: true });
  }
  return folder;
}

/** The clouds of a round, which run one after the other on the same folder. */
class RestartableCloud {
  cloud: KillableCloud;
  restarts = 0;
  readonly known: Known = new Map();
  readonly #folder: string;
  readonly #outside: EffectServer;
  readonly #time: CloudTime;

  constructor(folder: string, outside: EffectServer, time: CloudTime) {
    this.#folder = folder;
    this.#outside = outside;
    this.#time = time;
    this.cloud = this.#start();
  }

  #start(): KillableCloud {
    return startKillableCloud(this.#folder, { aheadMs: this.#time.aheadMs, effectServerPort: this.#outside.port });
  }

  async restart(wasOffMs: number): Promise<void> {
    await this.cloud.kill();
    this.#time.struck();
    this.#time.moved(wasOffMs);
    this.cloud = this.#start();
    this.restarts += 1;
  }

  /** Checks that written commits exist after every kill. */
  async look(): Promise<void> {
    compare(await readTables(new Tables((await this.cloud.started).tables)), this.known);
  }
}

interface Parts {
  readonly restartable: RestartableCloud;
  readonly clients: Clients;
  readonly time: CloudTime;
}

/** How often the clock moves by a minute before a thread is killed, so that the sweep runs too. */
const sleepRate = 0.15;

/** How long to wait for a running thread; under load there always is one. */
const threadPatienceMs = 30_000;

async function killRepeatedly(
  kills: readonly Kill[],
  prng: Prng,
  { restartable, clients, time }: Parts,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  await restartable.cloud.started;
  for (const kill of kills) {
    if (kill === 'thread') {
      await restartable.cloud.started;
      await clients.begun(prng.whole(0, 1));
      if (prng.isLucky(sleepRate)) {
        time.moved(skipMs);
        await restartable.cloud.moveClock(skipMs);
      }
      const name = await restartable.cloud.killThread(prng.next(), prng.whole(0, 250), threadPatienceMs);
      if (name === undefined) continue;
      time.struck();
      count(functionIn(name));
      continue;
    }
    // Sometimes during the start.
    if (prng.isLucky(0.85)) {
      await restartable.cloud.started;
      await restartable.look();
      await clients.begun(prng.whole(0, 7));
      await wait(prng.whole(0, 400));
    } else await wait(prng.whole(0, 1_000));
    await restartable.restart(prng.pick(offMs));
    clients.moved(restartable.cloud.started);
    count('whole');
  }
  await restartable.cloud.started;
  return counts;
}

/** `Stepwell-Runtime-StepwellFunctionsWorkerFunction…` is the worker's. */
const functionIn = (name: string): string => (/StepwellFunctions(\w+)Function[0-9A-F]{8}$/.exec(name)?.[1] ?? name).toLowerCase();

/** How long the cloud must be idle, and how much of its idle time is then skipped. */
const stillMs = 500;
const skipMs = 61_000;

async function waitUntilSettled(tables: Tables, restartable: RestartableCloud, time: CloudTime): Promise<void> {
  const until = time.now() + mostRestMs;
  let before = '';
  let since = performance.now();
  let skips = 0;
  for (;;) {
    const { open, mark } = await tables.standing();
    if (open.length === 0) return;
    runInvariant(5, time.now() < until, time.now() < until ? '' : await describe(tables, open));
    // A stream function runs for minutes after its reader has disconnected, without progress.
    const names = (await restartable.cloud.atWork()).filter((name) => functionIn(name) !== 'events');
    if (mark !== before || names.length > 0) {
      before = mark;
      since = performance.now();
    } else if (performance.now() - since > stillMs) {
      // Backoff makes checks rarer.
      const byMs = skipMs * Math.min(16, 2 ** Math.floor(skips / 4));
      time.moved(byMs);
      await restartable.cloud.moveClock(byMs);
      skips += 1;
      since = performance.now();
    }
    await wait(100);
  }
}

/** Describes runs that do not end, for the diagnosis. */
async function describe(tables: Tables, open: readonly string[]): Promise<string> {
  const { runs } = await readTables(tables);
  const said = open.slice(0, 3).map((runId) => {
    const run = runs.get(runId);
    const commits = run?.commits.map(({ number, at, by, events }) => `${number} ${at} ${by} ${JSON.stringify(events)}`) ?? [];
    return [`${runId} of ${run?.workflowName}:`, ...commits].join('\n  ');
  });
  return `${open.length} runs wait although nothing can resume them\n${said.join('\n')}`;
}
