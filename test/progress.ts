/** Shows how far a test run is, as a bar at each twentieth, and closes it with one plain line for whoever reads only the end of a log. */
import type { Reporter, TestModule, TestSpecification } from 'vitest/node';

const steps = 20;

export default class Progress implements Reporter {
  #files = 0;
  #ended = 0;
  #failed = 0;
  #shown = 0;
  #startedAt = 0;

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#files = specifications.length;
    [this.#ended, this.#failed, this.#shown, this.#startedAt] = [0, 0, 0, Date.now()];
  }

  onTestModuleEnd(module: TestModule): void {
    this.#ended += 1;
    if (module.state() === 'failed') this.#failed += 1;
    const step = Math.floor((steps * this.#ended) / Math.max(1, this.#files));
    // A run of a few files needs no bar.
    if (step === this.#shown || this.#files < steps) return;
    this.#shown = step;
    const bar = '#'.repeat(step).padEnd(steps, '.');
    const minutes = ((Date.now() - this.#startedAt) / 60_000).toFixed(1);
    console.log(`[${bar}] ${this.#ended} of ${this.#files} files, ${this.#failed} failed, ${minutes} min`);
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state !== 'pending') counts[state] += 1;
      }
      if (module.errors().length > 0) counts.failed += 1;
    }
    console.log(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  }
}
