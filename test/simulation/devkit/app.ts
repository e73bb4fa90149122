/**
 * A simulated application of the Workflow DevKit: it receives messages, replays the events of a run, and makes the calls of its SDK, in the
 * order of the 4.x line (a message for each step) or of the 5.x line (a flow message executes steps itself).
 */
import type { WorldRequest } from '../../../lib/engine/devkit/decide.ts';
import { slotId } from '../../../lib/engine/devkit/events.ts';
import { type RunAddress, eventId } from '../../../lib/engine/ids.ts';
import { type JsonObject, inline, isJsonObject } from '../../../lib/engine/json.ts';
import { durationMs, instant } from '../../../lib/engine/time.ts';
import type { EventResult } from '../../../lib/service/kinds/devkit/event-result.ts';
import type { WorldResult } from '../../../lib/service/kinds/devkit/world-error.ts';
import type { Process } from '../process.ts';
import type { Action, Plan, PlannedStep, SeenEvent } from './plan.ts';
import { largeText, replay } from './plan.ts';
import { type WorldClient, seenIn } from './world-client.ts';

export interface AppMessage {
  readonly queueName: string;
  readonly body: JsonObject;
}

/** What the SDK answers to a message: done, or the same again after a time. */
export interface Handled {
  readonly timeoutSeconds?: number;
}

/** The app has a namespace, so a message without it reaches no code. */
export const queueNamespace = 'shop';
export const flowQueue = '__shop_wkf_workflow_workflow//./workflows/order//processOrder';
const stepQueue = '__shop_wkf_step_step//./workflows/order//charge';
const stepName = 'step//./workflows/order//charge';

/** Steps of one suspension that a flow message of the 5.x line executes itself. */
const mostInline = 3;
/** After this time another message executes an inline step whose owner is lost. */
const backstopMs = 120_000;
const retryMs = 3_000;

/** A run of the code on one message. */
export class AppInvocation {
  readonly #client: WorldClient;
  readonly #process: Process;
  readonly #run: RunAddress;
  readonly #plan: Plan;
  #events: SeenEvent[] = [];

  constructor(client: WorldClient, process: Process, run: RunAddress, plan: Plan) {
    this.#client = client;
    this.#process = process;
    this.#run = run;
    this.#plan = plan;
  }

  async handle({ queueName, body }: AppMessage): Promise<Handled> {
    const { stepId } = body;
    if (typeof stepId !== 'string') return this.#flow(body);
    return queueName === stepQueue || this.#plan.line === 'inline' ? this.#step(stepId) : {};
  }

  async #flow({ runInput }: JsonObject): Promise<Handled> {
    const started = await this.#create(startRequest(isJsonObject(runInput) ? runInput : undefined));
    // It has ended, or the message came before its run and does not say what that is.
    if (started.kind === 'refused') return {};
    this.#events = [...seenIn(started.value.events ?? [])];
    if (started.value.hasMore === true) await this.#readOn();
    for (;;) {
      const next = replay(this.#plan, this.#events);
      if (next.kind === 'ended') {
        await this.#create({ event: this.#plan.end, payload: inline(next.output) });
        return {};
      }
      if (!(await this.#act(next.actions))) return this.#suspend(next.actions);
    }
  }

  /** @returns whether the code goes on at once */
  async #act(actions: readonly Action[]): Promise<boolean> {
    let goesOn = false;
    const before = this.#events.length;
    for (const action of actions) goesOn = (await this.#actOn(action)) || goesOn;
    goesOn = (await this.#runSteps(actions)) || goesOn;
    if (goesOn) await this.#readOn();
    // Another flow of the run may have done it all, and is not to be seen yet.
    return goesOn && this.#events.length > before;
  }

  async #actOn(action: Action): Promise<boolean> {
    const { id } = action;
    switch (action.kind) {
      case 'create-hook':
        await this.#create({ event: 'hook_created', correlationId: id, data: { token: action.token } });
        return true;
      case 'dispose-hook':
        await this.#create({ event: 'hook_disposed', correlationId: id });
        return true;
      case 'set-attribute': {
        const changes = [{ key: id, value: 'set' }];
        await this.#create({ event: 'attr_set', correlationId: id, data: { changes, writer: { type: 'workflow' } } });
        return true;
      }
      case 'create-wait': {
        const until = instant(this.#process.now() + action.ms);
        await this.#create({ event: 'wait_created', correlationId: id, until });
        return true;
      }
      case 'wait':
        if (action.until > this.#process.now()) return false;
        await this.#create({ event: 'wait_completed', correlationId: id });
        return true;
      default:
        return false;
    }
  }

  async #runSteps(actions: readonly Action[]): Promise<boolean> {
    const created = actions.flatMap(({ kind, id }) => (kind === 'create-step' ? [id] : []));
    const open = actions.flatMap(({ kind, id }) => (kind === 'run-step' ? [id] : []));
    if (this.#plan.line === 'inline') {
      const [own, others] = [created.slice(0, mostInline), created.slice(mostInline)];
      if (others.length > 0) await this.#client.createBatch(this.#run, others.map(creationOf));
      for (const id of [...others, ...open]) await this.#queueStep(flowQueue, id);
      // One that fails does not end the others.
      const ended = await Promise.allSettled(own.map((id) => this.#runInline(id)));
      for (const each of ended) if (each.status === 'rejected') throw each.reason;
      return own.length > 0;
    }
    for (const id of created) await this.#create(creationOf(id));
    for (const id of [...created, ...open]) await this.#queueStep(stepQueue, id);
    return false;
  }

  #queueStep(queueName: string, stepId: string, delayMs = 0): Promise<void> {
    const { runId } = this.#run;
    const body = queueName === stepQueue ? { workflowRunId: runId, stepId } : { runId, stepId };
    const key = delayMs > 0 ? `${stepId}:backstop` : stepId;
    return this.#client.queue(this.#run, queueName, body, { idempotencyKey: key, ...(delayMs > 0 ? { delayMs } : {}) });
  }

  /** Only one of two flows creates the step, and executes it. */
  async #runInline(id: string): Promise<void> {
    const started = await this.#create({ ...creationOf(id), event: 'step_started' });
    if (started.kind === 'refused') return;
    await this.#queueStep(flowQueue, id, backstopMs);
    const ended = await this.#execute(id, started.value);
    if (ended.timeoutSeconds !== undefined) await this.#queueStep(flowQueue, id, ended.timeoutSeconds * 1_000);
  }

  async #step(id: string): Promise<Handled> {
    const started = await this.#create({ event: 'step_started', correlationId: id });
    if (started.kind === 'answered') {
      const ended = await this.#execute(id, started.value);
      if (ended.timeoutSeconds !== undefined) return ended;
    } else if (started.code === 'too_early') {
      return { timeoutSeconds: started.retryAfterSeconds ?? 1 };
    } else if (started.code === 'run_expired') {
      return {};
    }
    const { runId } = this.#run;
    await this.#client.queue(this.#run, flowQueue, { runId });
    return {};
  }

  async #execute(id: string, { step }: EventResult): Promise<Handled> {
    const planned = stepOf(this.#plan, id);
    const attempt = Number(step?.['attempt'] ?? 0);
    await this.#process.sleep(durationMs(planned.ms));
    const position = this.#events.at(-1)?.slot ?? 0;
    // A delta of parallel steps would be read twice.
    const params = position === 0 ? {} : { sinceCursor: slotId(eventId(position)) };
    if (attempt > planned.failures && attempt <= planned.mostAttempts) {
      const result = inline(`${id} by ${attempt}${planned.isLarge === true ? largeText : ''}`);
      await this.#create({ event: 'step_completed', correlationId: id, payload: result }, params);
      return {};
    }
    const payload = inline(`${id} failed in ${attempt}`);
    if (attempt >= planned.mostAttempts) {
      await this.#create({ event: 'step_failed', correlationId: id, payload });
      return {};
    }
    const until = instant(this.#process.now() + retryMs);
    const retried = await this.#create({ event: 'step_retrying', correlationId: id, payload, until });
    return retried.kind === 'refused' ? {} : { timeoutSeconds: Math.ceil(retryMs / 1_000) };
  }

  /** The earliest wait brings the message back: in the 4.x line the same message, in the 5.x line another one. */
  async #suspend(actions: readonly Action[]): Promise<Handled> {
    const waits = actions.flatMap((action) => (action.kind === 'wait' ? [action] : []));
    const first = waits.toSorted((one, other) => one.until - other.until).at(0);
    if (first === undefined) return {};
    const delayMs = Math.max(1_000, first.until - this.#process.now());
    if (this.#plan.line === 'flow and step') return { timeoutSeconds: Math.ceil(delayMs / 1_000) };
    const { runId } = this.#run;
    await this.#client.queue(this.#run, flowQueue, { runId }, { idempotencyKey: first.id, delayMs });
    return {};
  }

  async #readOn(): Promise<void> {
    this.#events.push(...(await this.#client.eventsAfter(this.#run, this.#events.at(-1)?.slot ?? 0)));
  }

  #create(request: WorldRequest, params = {}): Promise<WorldResult<EventResult>> {
    return this.#client.create(this.#run, request, params);
  }
}

const creationOf = (id: string): WorldRequest => ({
  event: 'step_created',
  correlationId: id,
  data: { stepName },
  payload: inline(`input of ${id}`),
});

/** A message of a start carries what its run is created from. */
const startRequest = (runInput: JsonObject | undefined): WorldRequest => {
  if (runInput === undefined) return { event: 'run_started' };
  const { input = null, ...data } = runInput;
  return { event: 'run_started', data, payload: inline(input) };
};

function stepOf({ stages }: Plan, id: string): PlannedStep {
  const [, stage, step] = id.split('_').map(Number);
  const found = stages[stage ?? -1];
  const planned = found?.kind === 'steps' ? found.steps[step ?? -1] : undefined;
  if (planned === undefined) throw new Error(`the plan has no step ${id}`);
  return planned;
}
