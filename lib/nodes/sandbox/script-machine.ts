/**
 * A QuickJS machine that runs one script after the other. Before each script its memory becomes again what it was before the first, so a
 * script finds nothing of another (docs/decisions/one-machine-for-many-scripts.md).
 */
import { randomBytes } from 'node:crypto';
import { type JSValueHandle, QuickJS, type Snapshot } from 'quickjs-wasi';
import { invariant } from '../../engine/invariant.ts';
import { prelude } from './prelude.ts';

/** Less than the 1 MiB stack of the WebAssembly module, so that deep recursion is an exception and not a crash. */
export const stackBytes = 262_144;

/** Where this version of QuickJS has the state of its random numbers (xorshift64*), in bytes from the start of its `JSContext`. */
const randomStateAt = 280;
/** The first number for the state 1. */
const firstRandom = 0.280_835_050_050_359_36;

/** What the machine calls while a script runs. */
interface ScriptHooks {
  readonly shouldStop: () => boolean;
  readonly print: (line: string) => void;
}

const noHooks: ScriptHooks = { shouldStop: () => false, print: () => undefined };

export class ScriptMachine {
  readonly machine: QuickJS;
  readonly memoryBytes: number;
  /** the function of the prelude, and the function with which it prints */
  readonly prelude: JSValueHandle;
  readonly print: JSValueHandle;
  readonly #memory: WebAssembly.Memory;
  readonly #clean: Snapshot;
  #hooks: ScriptHooks = noHooks;

  static async create(wasm: WebAssembly.Module, memoryBytes: number): Promise<ScriptMachine> {
    let memory: WebAssembly.Memory | undefined;
    let created: ScriptMachine | undefined;
    const machine = await QuickJS.create({
      wasm,
      memoryLimit: memoryBytes,
      maxStackSize: stackBytes,
      timezoneOffset: 0,
      interruptHandler: () => (created === undefined ? false : created.#hooks.shouldStop()),
      wasi: (ofMachine: WebAssembly.Memory) => {
        memory = ofMachine;
        return {};
      },
    });
    invariant(memory !== undefined, 'QuickJS passes the memory of the machine');
    created = new ScriptMachine(machine, memory, memoryBytes);
    created.#checkRandomState();
    return created;
  }

  private constructor(machine: QuickJS, memory: WebAssembly.Memory, memoryBytes: number) {
    this.machine = machine;
    this.memoryBytes = memoryBytes;
    this.#memory = memory;
    // Handles that are used for each script exist before the snapshot, so they are a part of it.
    const nothing = machine.undefined;
    this.print = machine.newFunction('print', (line?: JSValueHandle) => {
      if (line?.isString === true) this.#hooks.print(line.toString());
      return nothing;
    });
    this.prelude = machine.evalCode(prelude, 'prelude.js');
    this.#clean = machine.snapshot();
  }

  /** Must be called before each script. */
  begin(hooks: ScriptHooks): void {
    this.#hooks = hooks;
    new Uint8Array(this.#memory.buffer).set(this.#clean.memory);
    // Any state but 0.
    this.#setRandomState(randomBytes(8).readBigUInt64LE() | 1n);
  }

  /** Memory of WebAssembly grows and never shrinks. What lies beyond the snapshot would remain. */
  hasGrown(): boolean {
    return this.#memory.buffer.byteLength !== this.#clean.memory.byteLength;
  }

  #setRandomState(state: bigint): void {
    new DataView(this.#memory.buffer, this.#clean.contextPtr).setBigUint64(randomStateAt, state, true);
  }

  /** Another version of QuickJS may have its state elsewhere. */
  #checkRandomState(): void {
    this.#setRandomState(1n);
    invariant(this.machine.evalCode('Math.random()').toNumber() === firstRandom, 'the random state of QuickJS is at its place');
  }
}
