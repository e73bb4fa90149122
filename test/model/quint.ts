/**
 * Quint's simulator in this process: a specification is parsed once, and many of its modules are simulated. The command line parses
 * it each time, which takes longer than most simulations, and downloads another simulator by default.
 */
import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { newIdGenerator } from '@informalsystems/quint/dist/src/idGenerator.js';
import type { QuintEx } from '@informalsystems/quint/dist/src/ir/quintIr.js';
import { walkExpression } from '@informalsystems/quint/dist/src/ir/IRVisitor.js';
import {
  type ParserPhase4,
  parse,
  parseExpressionOrDeclaration,
} from '@informalsystems/quint/dist/src/parsing/quintParserFrontend.js';
import { fileSourceResolver } from '@informalsystems/quint/dist/src/parsing/sourceResolver.js';
import { analyzeModules } from '@informalsystems/quint/dist/src/quintAnalyzer.js';
import { Evaluator } from '@informalsystems/quint/dist/src/runtime/impl/evaluator.js';
import { newTraceRecorder } from '@informalsystems/quint/dist/src/runtime/trace.js';
import { Prng } from '../simulation/prng.ts';

export interface SimulationRequest {
  readonly module: string;
  readonly invariant: string;
  /** for each, the number of traces in which it held at some time */
  readonly witnesses?: readonly string[];
  readonly seed: number;
  readonly traces: number;
  readonly steps: number;
}

export interface SimulationAnswer {
  readonly isViolated: boolean;
  readonly traces: number;
  readonly witnessed: readonly number[];
  /** the invariants among these names that do not hold in the last state of the violating trace */
  readonly violatedOf: (names: readonly string[]) => readonly string[];
}

export class Specification {
  readonly #parsed: ParserPhase4;
  readonly #ids = newIdGenerator();

  /** @throws an error with the location if the file cannot be parsed */
  constructor(path: string) {
    const code = readFileSync(path, 'utf8');
    const sources = new Map([[path, code]]);
    const mainPath = fileSourceResolver(sources).lookupPath(dirname(path), basename(path));
    this.#parsed = parse(this.#ids, path, mainPath, code, sources);
    const [error] = this.#parsed.errors;
    if (error !== undefined) throw new Error(`${path}: ${error.message}`);
  }

  /** Errors of types and effects. */
  get faults(): readonly string[] {
    const [faults] = analyzeModules(this.#parsed.table, this.#parsed.modules);
    return faults.map(({ message }) => message);
  }

  simulate(request: SimulationRequest): SimulationAnswer {
    const { module, invariant, witnesses = [], seed, traces, steps } = request;
    const evaluator = this.#evaluator(seed);
    const named = (name: string): QuintEx => this.#expression(module, name);
    const outcome = evaluator.simulate(named('init'), named('step'), named(invariant), witnesses.map(named), traces, steps, 1);
    if (outcome.status === 'error') throw new Error(outcome.errors.map(({ message }) => message).join('; '));
    const last = outcome.bestTraces[0]?.states.at(-1);
    return {
      isViolated: outcome.status === 'violation',
      traces: outcome.samples,
      witnessed: outcome.witnessingTraces,
      violatedOf: (names) => {
        if (last === undefined) return [];
        evaluator.updateState(last);
        return names.filter((name) => !isTrue(evaluator, named(name)));
      },
    };
  }

  /** A walk that the caller drives: each action is taken if it is enabled. */
  walk(module: string): Walk {
    const evaluator = this.#evaluator(1);
    evaluator.reset();
    return {
      takes: (action) => {
        const isTaken = isTrue(evaluator, this.#expression(module, action));
        if (isTaken) evaluator.shift();
        return isTaken;
      },
      holds: (value) => isTrue(evaluator, this.#expression(module, value)),
    };
  }

  #evaluator(seed: number): Evaluator {
    const prng = new Prng(seed);
    // Quint's own generator uses big integers, and takes a third of the time of a simulation.
    const rng = {
      next: (bound: bigint): bigint => BigInt(Math.floor(prng.next() * Number(bound))),
      getState: (): bigint => BigInt(seed),
      setState: (): void => undefined,
    };
    return new Evaluator(this.#parsed.table, newTraceRecorder(0, rng, 1), rng);
  }

  #expression(module: string, text: string): QuintEx {
    const read = parseExpressionOrDeclaration(text, '<asked>', this.#ids, this.#parsed.sourceMap);
    if (read.kind !== 'expr') throw new Error(`${text} is not an expression`);
    this.#parsed.resolver.switchToModule(module);
    walkExpression(this.#parsed.resolver, read.expr);
    const [error] = this.#parsed.resolver.errors.splice(0);
    if (error !== undefined) throw new Error(`${text}: ${error.message}`);
    return read.expr;
  }
}

export interface Walk {
  readonly takes: (action: string) => boolean;
  readonly holds: (value: string) => boolean;
}

function isTrue(evaluator: Evaluator, expression: QuintEx): boolean {
  const result = evaluator.evaluate(expression);
  if (result.isLeft()) throw new Error(result.value.message);
  return result.value.kind === 'bool' && result.value.value;
}
