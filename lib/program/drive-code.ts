/** One drive of one run: the code is replayed, goes on from where it was, and is begun anew when others have committed. */
import type { History } from '../engine/durable/turn.ts';
import type { JsonValue } from '../engine/json.ts';
import { toldFailure } from '../engine/log/failure-limits.ts';
import { seconds } from '../engine/time.ts';
import type { DriveEnd } from '../ports/programs.ts';
import { type Going, type Leave, over, say } from './going.ts';
import { Live } from './live.ts';
import { Play } from './play.ts';
import { Replay } from './replay.ts';
import { type Checked, checkWith } from './schema-check.ts';
import { StepsUnderWay } from './steps-under-way.ts';
import { ownCopy } from './stored-value.ts';
import { Undo } from './undo.ts';

/** how long what is at work may take to heed its signal */
const graceMs = seconds(5);

export async function driveCode(going: Going): Promise<DriveEnd> {
  const { bodies, news, task } = going;
  let leave: Leave = { kind: 'again', history: task.history };
  for (;;) {
    if (leave.kind === 'again') {
      // It is to be undone: that is what there is to do.
      if (leave.history.ending !== undefined) delete news.cancelled;
      leave = await pass(going, leave.history);
    } else if (leave.kind === 'pressed' && news.cancelled !== undefined && !news.isKilled) {
      leave = await beCancelled(going, news.cancelled);
    } else {
      bodies.stopAll('the drive is over');
      return leave.kind === 'end' ? leave.end : { kind: 'over' };
    }
  }
}

async function pass(going: Going, history: History<JsonValue>): Promise<Leave> {
  const { task, workflow, clock, bell, bodies, print } = going;
  const given = ownCopy(task.input);
  const checked: Checked =
    workflow.schema === undefined ? { kind: 'valid', value: given } : await checkWith(workflow.schema, given);
  if (checked.kind === 'invalid') return refuseInput(going, history, checked);
  const play = new Play({
    run: task.run,
    workflow,
    input: checked.value,
    history,
    now: () => clock.now(),
    print,
    onMove: () => bell.ring(),
  });
  const steps = new StepsUnderWay(history);
  const replay = new Replay(going, play);
  bodies.keepOnly(history.open);
  const isUndone = history.ending !== undefined;
  if (history.entries.length === 0 && !isUndone) play.goLive();
  play.start();
  await clock.drained();
  const end = (await replay.go(history.entries, !isUndone)) ?? replay.stranger();
  if (end !== undefined) return { kind: 'end', end };
  if (!isUndone) play.goLive();
  const left = isUndone ? undo : await new Live(going, { play, steps, replay, history }).go();
  return left.kind === 'undo' ? new Undo(going, { play, steps, rollbacks: replay.rollbacks }).go() : left;
}

const undo = { kind: 'undo' } as const;

/** Before its first step the run fails by it. Later it is the schema that has changed its mind. */
async function refuseInput(
  going: Going,
  { entries, kept, ending }: History<JsonValue>,
  { message: what, issues }: Extract<Checked, { kind: 'invalid' }>,
): Promise<Leave> {
  const message = `the input is not as it must be: ${what}`;
  if (entries.length > 0 || kept.length > 0 || ending !== undefined)
    return { kind: 'end', end: { kind: 'diverged', message, details: { deploymentId: going.deploymentId, issues } } };
  const failure = toldFailure({ cause: 'invalid', code: 'input_invalid', message, details: { issues } });
  const said = await say(going, { entries: [{ kind: 'threw', failure }], next: 'goes_on' });
  return said.kind === 'committed' ? over : said;
}

/** Whoever cancelled says next what there is to do: nothing, or to undo what was done. */
async function beCancelled(going: Going, reason: string): Promise<Leave> {
  const { bodies, news } = going;
  bodies.stopAll(reason);
  await bodies.haveStopped(graceMs);
  delete news.cancelled;
  const said = await say(going, { entries: [], next: 'rests' });
  return said.kind === 'committed' ? over : said;
}
