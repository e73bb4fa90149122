/** What the console promises (the table in docs/CONSOLE.md), with the tests that prove each promise, by file and name. */
export interface Feature {
  readonly promise: string;
  readonly tests: readonly (readonly [file: string, name: string])[];
}

export const features: readonly Feature[] = [
  {
    promise: 'Each open run says why it waits, and one click acts on it',
    tests: [
      ['smoke.test.ts', 'a waiting run gets its signal from its page, and completes'],
      ['smoke.test.ts', 'a sleeping node is woken from the page of its run, which completes'],
      ['smoke.test.ts', 'a failed node is retried now from the page of its run, minutes before its time'],
      [
        'run-page.deep.test.ts',
        'an open run is resumed from its page with a reason and a payload, once, also when a response is lost',
      ],
    ],
  },
  {
    promise: 'One page has what failed, what tries again and what waits',
    tests: [
      ['smoke.test.ts', 'the attention page has what failed, with the reason, and leads to the list'],
      [
        'run-page.deep.test.ts',
        'the attention page has what the sweep found: on which signal a run waits, and when one tries again',
      ],
      ['run-page.deep.test.ts', 'a run whose worker died in each attempt is on the attention page, with what can be done'],
    ],
  },
  {
    promise: 'A log of any length opens',
    tests: [
      ['speed.deep.test.ts', 'of 20,000 events the first rows come from 300 KB, and as soon as those of a small run'],
      ['speed.deep.test.ts', 'the list of 20,000 events has only the rows in view, and scrolls as that of a small run'],
      ['speed.deep.test.ts', 'a waterfall of 10,000 attempts scrolls as that of a small run'],
    ],
  },
  {
    promise: 'The waterfall separates the queue, attempts, backoff and sleep',
    tests: [['smoke.test.ts', 'a failed run shows its root cause, graph, waterfall, events and data']],
  },
  {
    promise: 'A run continues from a node, with another input, version or replaced results, also many at once',
    tests: [
      ['smoke.test.ts', 'a failed run runs again from a node, with another input'],
      ['newcomer.deep.test.ts', 'it is corrected, and the failed run continues from its node on the next version'],
      [
        'run-page.deep.test.ts',
        'a run continues after a failed node with an output that a person gives it, and the node does not run',
      ],
      ['compare.deep.test.ts', 'several runs start again, each once, also when a response is lost'],
    ],
  },
  {
    promise: 'Two runs are compared by path, durations, outputs and definition',
    tests: [
      ['compare.deep.test.ts', 'two selected runs are compared: input, path, outputs and definition'],
      ['compare.deep.test.ts', 'two runs of code are compared: input, steps and outputs, and no definition'],
    ],
  },
  {
    promise: 'A run has the definition that it executes, live, with the runs that it called',
    tests: [
      ['run-page.deep.test.ts', 'the graph of a test run is shown, which no version has'],
      ['run-page.deep.test.ts', 'the root cause leads through an error end, a called run and a loop to the line of the script'],
      [
        'openworkflow-runs.deep.test.ts',
        'a failed run of the library is listed, and its page shows the steps, the root cause and the child',
      ],
    ],
  },
  {
    promise: 'Publishing cannot overwrite another author',
    tests: [
      ['editor-work.deep.test.ts', 'a version that was published meanwhile is merged by node'],
      ['editor-work.deep.test.ts', 'a draft that another author saved is not overwritten unasked'],
    ],
  },
  {
    promise: 'The editor tests with pinned results, and leaves no trace',
    tests: [
      ['editor-work.deep.test.ts', 'a test runs the draft with a pinned output, and shows each node'],
      ['editor-work.deep.test.ts', 'a pin is part of the draft, so the next visit of any browser has it'],
    ],
  },
  {
    promise: 'People sign in and are audited, from the first deployment on',
    tests: [
      ['smoke.test.ts', 'the printed link signs in once, and runs appear in the list while one looks'],
      ['access.deep.test.ts', 'the trail names the person, and leads to the run'],
      ['provider-sign-in.deep.test.ts', 'a person signs in at the provider, returns to the page that they wanted, and is named'],
    ],
  },
  {
    promise: 'A run shows what it cost',
    tests: [['smoke.test.ts', 'a failed run shows its root cause, graph, waterfall, events and data']],
  },
  {
    promise: 'The list, the page and the events read one log',
    tests: [
      ['run-page.deep.test.ts', 'the list, the page and its events say the same of a run'],
      ['workflow-pages.deep.test.ts', 'a run that ends between its own request and the one for its events is shown as ended'],
    ],
  },
];
