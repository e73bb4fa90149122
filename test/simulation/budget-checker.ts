/**
 * Counts the executions and tokens of each run from the names of attempts, independently of the engine. A duplicate does not
 * count twice. No run may exceed its budget, and a run that its budget ends must have needed more.
 */
import type { Budget } from '../../lib/engine/graph/definition.ts';
import { type RunAddress, nodeKey } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { Failure } from '../../lib/engine/log/events.ts';
import { runInvariant } from './violation.ts';

interface Counted {
  readonly asked: Set<string>;
  readonly tokens: Map<string, number>;
  error?: Failure;
}

export class BudgetChecker {
  readonly #budget: Budget;
  readonly #runs = new Map<string, Counted>();
  readonly #codeRuns = new Set<string>();

  constructor(budget: Budget = {}) {
    this.#budget = budget;
  }

  committed({ runId }: RunAddress, { events }: Commit): void {
    // Only graphs have budgets. A graph may call a code workflow, whose run retries its steps as its code says.
    if (events.some((event) => event.type === 'NODE_DISPATCHED' && event.step !== undefined)) this.#codeRuns.add(runId);
    if (this.#codeRuns.has(runId)) return;
    const run = this.#runs.get(runId) ?? { asked: new Set<string>(), tokens: new Map<string, number>() };
    this.#runs.set(runId, run);
    const { maxNodeExecutions = Infinity, maxTokens = Infinity } = this.#budget;
    runInvariant(2, told(run) <= maxTokens, `${runId} used ${told(run)} tokens, more than its budget, and continued`);
    for (const event of events) {
      if (event.type === 'NODE_DISPATCHED') run.asked.add(`${nodeKey(event)}#${event.attempt}`);
      if (event.type === 'NODE_RETRIED') run.asked.add(`${nodeKey(event)}#${event.attempt + 1}`);
      if (event.type === 'SUBFLOW_CALLED') run.asked.add(`${nodeKey(event)}#${event.attempt}`);
      if (event.type === 'RUN_FAILED') run.error = event.error;
      if ('tokens' in event && event.tokens !== undefined)
        run.tokens.set(`${nodeKey(event)}#${event.attempt}`, event.tokens.input + event.tokens.output);
    }
    runInvariant(
      2,
      run.asked.size <= maxNodeExecutions,
      `${runId} dispatched ${run.asked.size} executions; its budget is ${maxNodeExecutions}`,
    );
  }

  check(): void {
    for (const [runId, run] of this.#runs) {
      const { asked, error } = run;
      const { budget, used } = error?.code === 'budget_exceeded' ? (error.details ?? {}) : {};
      const counted = budget === 'maxTokens' ? told(run) : budget === 'maxNodeExecutions' ? asked.size : used;
      runInvariant(
        2,
        counted === used,
        `${runId} reports another usage than the checker counted: ${JSON.stringify({ budget, used, counted })}`,
      );
    }
  }

  /** Runs ended by their budget. */
  get ended(): number {
    return [...this.#runs.values()].filter(({ error }) => error?.code === 'budget_exceeded').length;
  }
}

const told = ({ tokens }: Counted): number => [...tokens.values()].reduce((sum, count) => sum + count, 0);
