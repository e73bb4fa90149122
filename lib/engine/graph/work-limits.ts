/**
 * Limits of the computation and text of one node and of one decision. Work is counted, not timed, so that the result is the same on
 * every machine and in every repetition.
 *
 * A node that exceeds its own limit fails. A node that exceeds the rest of its decision's limit is dispatched instead, and a worker
 * evaluates it (docs/decisions/decision-work-limits.md).
 */
import { type JsonValue, minJsonLength } from '../json.ts';
import type { Failure } from '../log/events.ts';
import { jsonPointer } from './findings.ts';
import { payloadLimits } from './payload-limits.ts';

export const workLimits = {
  /** `text`: characters of texts from templates, which are in memory together, for a node and for a decision */
  node: { text: payloadLimits.contextBytes, matching: 20_000_000 },
  decision: {
    text: 33_554_432,
    /** about half a second; the rest of the 29 seconds of a response is for the stores */
    matching: 2_000_000,
    /** for edge conditions: they cannot be deferred, so beyond this the edge's target fails */
    edges: 20_000_000,
    /**
     * Bytes that a commit cannot offload: messages, names, printed lines, and an overhead per event. Iterations that begin may add as
     * much again; both together stay below the limit of a commit.
     */
    inlineBytes: 131_072,
  },
} as const;

/** The node exceeds the rest of the decision's limit. Nothing of it is decided. */
export class DecisionLimitReached extends Error {
  override readonly name = 'DecisionLimitReached';
}

/** A node exceeds its own limit; the code that runs nodes turns it into a failure. */
export class WorkLimitExceeded extends Error {
  override readonly name = 'WorkLimitExceeded';
  readonly code: string;
  /** path in the node's config, outermost step first */
  #steps: readonly (string | number)[] = [];

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }

  /** Adds the enclosing step of the config path. */
  within(step: string | number): this {
    this.#steps = [step, ...this.#steps];
    return this;
  }

  get failure(): Failure {
    const path = jsonPointer('config', ...this.#steps);
    return { cause: 'invalid', code: this.code, message: this.message, details: { path } };
  }
}

/** Runs work for one part of a config, so that an exceeded limit names that part. */
export function withinConfigPath<Value>(step: string | number, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    throw error instanceof WorkLimitExceeded ? error.within(step) : error;
  }
}

/** A part takes 1 to 40 ns, and a matching step 0.1 to 0.5 µs. */
const partsPerStep = 4;

/** The work of one decision so far. */
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

  /** Called before an edge condition reads text characters, items or keys. Counts towards the limit that defers later nodes. */
  addComparisons(parts: number): void {
    this.#matching += parts / partsPerStep;
    this.#edges += parts / partsPerStep;
    if (this.#edges > workLimits.decision.edges) {
      const message =
        'the edge conditions read more than one decision may: use fewer conditions, or name a smaller part of the output with sourceOutputKey';
      throw new WorkLimitExceeded('comparison_too_costly', message);
    }
  }

  /** Counts an emitted event. It is never undone; it only stops further decisions. */
  inlineBytes(bytes: number): void {
    this.#inlineBytes += bytes;
  }

  /** Whether an iteration with this many bytes may begin. The first always may, so that each decision makes progress. */
  reserveIteration(bytes: number): boolean {
    const hasRoom =
      !this.isFull && (this.#iterationBytes === 0 || this.#iterationBytes + bytes <= workLimits.decision.inlineBytes);
    if (hasRoom) this.#iterationBytes += bytes;
    return hasRoom;
  }

  /** Counts the text of an emitted output. */
  addStoredText(characters: number): void {
    this.#text += characters;
  }
}

/** The work of one node so far. */
export class NodeWork {
  readonly #decision: DecisionWork | undefined;
  #text = 0;
  #matching = 0;

  /** @param decision absent: a worker evaluates the node */
  constructor(decision?: DecisionWork) {
    this.#decision = decision;
  }

  /** Called before a text is made. */
  text(characters: number): void {
    this.#text += characters;
    const maxText = workLimits.node.text;
    if (this.#text > maxText) {
      const message = `the texts from the node's templates have at least ${this.#text} characters together; the limit is ${maxText}`;
      throw new WorkLimitExceeded('context_too_large', message);
    }
    this.#decision?.text(characters);
  }

  /** Counts the text form of a value before it is made. */
  value(value: JsonValue | undefined): void {
    if (value !== undefined) this.text(minJsonLength(value, workLimits.node.text - this.#text));
  }

  /** Called before a pattern is compiled or matched. */
  matching(steps: number): void {
    const message = 'the regular expressions of the node take too much work: use fewer patterns, or shorter texts';
    this.#step(steps, 'regex_too_costly', message);
  }

  /** Called before values are compared or traversed: counts text characters, items and keys. */
  addComparisons(parts: number): void {
    const message = 'the comparisons of the node read too much: use fewer comparisons, or smaller values';
    this.#step(parts / partsPerStep, 'comparison_too_costly', message);
  }

  #step(steps: number, code: string, message: string): void {
    this.#matching += steps;
    if (this.#matching > workLimits.node.matching) throw new WorkLimitExceeded(code, message);
    this.#decision?.matching(steps);
  }
}
