/**
 * How much one node, and one decision, may compute and say. Counted, not timed: what a decision depends on is the same on
 * every machine and each time that it is decided.
 *
 * A node that goes beyond its own bound fails. One that goes beyond what is left of its decision's is no fault of its own: it
 * is dispatched, and decided by a worker for itself (docs/decisions/decision-work-limits.md).
 */
import type { JsonValue } from '../json.ts';
import { minJsonLength } from '../min-json-length.ts';
import type { Failure } from '../log/events.ts';
import { jsonPointer } from './findings.ts';
import { payloadLimits } from './payload-limits.ts';

export const workLimits = {
  /** texts that templates make, in characters: they are held in memory at once, for a node and for a decision */
  node: { text: payloadLimits.contextBytes, matching: 20_000_000 },
  decision: {
    text: 33_554_432,
    /** about half a second; of an answer's 29 seconds the rest is for the stores */
    matching: 2_000_000,
    /** that conditions of edges look at: they cannot be deferred, so what is more fails the node that the edge leads to */
    edges: 20_000_000,
    /**
     * of what no commit can store apart, in bytes: messages, names, printed lines, and a frame for each event. Passes of loops
     * that begin may come to as much again, and with both it stays below what a commit may have
     */
    inlineBytes: 131_072,
  },
} as const;

/** What was asked is more than one decision does. Nothing of it has been decided. */
export class DecisionLimitReached extends Error {
  override readonly name = 'DecisionIsFull';
}

/** Raised where a node goes beyond its own bound; whoever runs nodes makes a failure of it. */
export class WorkLimitExceeded extends Error {
  override readonly name = 'TooMuchWork';
  readonly code: string;
  /** where in the node's config, from the outside in */
  #steps: readonly (string | number)[] = [];

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }

  /** It happened at this place, or below it. */
  within(step: string | number): this {
    this.#steps = [step, ...this.#steps];
    return this;
  }

  get failure(): Failure {
    const path = jsonPointer('config', ...this.#steps);
    return { cause: 'invalid', code: this.code, message: this.message, details: { path } };
  }
}

/** Runs what belongs to one place of a config, so that what goes beyond a bound there says so. */
export function withinConfigPath<Value>(step: string | number, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    throw error instanceof WorkLimitExceeded ? error.within(step) : error;
  }
}

/** A part takes 1 to 40 ns, and a step of matching 0.1 to 0.5 µs. */
const partsPerStep = 4;

/** What one decision has come to so far. */
export class DecisionWork {
  #text = 0;
  #matching = 0;
  #edges = 0;
  #inlineBytes = 0;
  #iterationBytes = 0;

  get isFull(): boolean {
    const { text, matching, inlineBytes } = workLimits.decision;
    return this.#text >= text || this.#matching >= matching || this.#inlineBytes >= inlineBytes;
  }

  text(characters: number): void {
    this.#text += characters;
    if (this.#text > workLimits.decision.text) throw new DecisionLimitReached();
  }

  matching(steps: number): void {
    this.#matching += steps;
    if (this.#matching > workLimits.decision.matching) throw new DecisionLimitReached();
  }

  /** Before the condition of an edge looks at characters of texts, items and keys. The nodes that follow are deferred by it. */
  addComparisons(parts: number): void {
    this.#matching += parts / partsPerStep;
    this.#edges += parts / partsPerStep;
    if (this.#edges > workLimits.decision.edges) {
      const message =
        'the conditions of the edges look at more than one decision may: use fewer of them, or let sourceOutputKey name a smaller part of the output';
      throw new WorkLimitExceeded('comparison_too_costly', message);
    }
  }

  /** Of an event that stands: it is not undone, and nothing more is decided after it. */
  inlineBytes(bytes: number): void {
    this.#inlineBytes += bytes;
  }

  /** Whether a pass may begin that may come to so many bytes in this decision. The first one may, so each decision gets on. */
  reserveIteration(bytes: number): boolean {
    const hasRoom =
      !this.isFull && (this.#iterationBytes === 0 || this.#iterationBytes + bytes <= workLimits.decision.inlineBytes);
    if (hasRoom) this.#iterationBytes += bytes;
    return hasRoom;
  }

  /** Of an output that stands. */
  addStoredText(characters: number): void {
    this.#text += characters;
  }
}

/** What one node has come to so far. */
export class NodeWork {
  readonly #decision: DecisionWork | undefined;
  #text = 0;
  #matching = 0;

  /** @param decision absent: a worker decides it for itself */
  constructor(decision?: DecisionWork) {
    this.#decision = decision;
  }

  /** Before a text is made. */
  text(characters: number): void {
    this.#text += characters;
    const maxText = workLimits.node.text;
    if (this.#text > maxText) {
      const message = `what its templates come to has at least ${this.#text} characters, and may have ${maxText} for all of the node`;
      throw new WorkLimitExceeded('context_too_large', message);
    }
    this.#decision?.text(characters);
  }

  /** What a value comes to as text, before it is made one. */
  value(value: JsonValue | undefined): void {
    if (value !== undefined) this.text(minJsonLength(value, workLimits.node.text - this.#text));
  }

  /** Before a pattern is compiled or looked for. */
  matching(steps: number): void {
    const message = 'its regular expressions take more work than a node may have: use fewer of them, or shorter texts';
    this.#step(steps, 'regex_too_costly', message);
  }

  /** Before values are compared or gone through: characters of their texts, items and keys. */
  addComparisons(parts: number): void {
    const message = 'its comparisons look at more than a node may: use fewer of them, or smaller values';
    this.#step(parts / partsPerStep, 'comparison_too_costly', message);
  }

  #step(steps: number, code: string, message: string): void {
    this.#matching += steps;
    if (this.#matching > workLimits.node.matching) throw new WorkLimitExceeded(code, message);
    this.#decision?.matching(steps);
  }
}
