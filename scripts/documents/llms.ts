/** llms.txt and llms-full.txt (llmstxt.org): the documents as a list with one line each, and as one text in reading order. */

interface Page {
  readonly path: string;
  readonly title: string;
  /** one line: what a reader finds there */
  readonly about: string;
}
interface Section {
  readonly title: string;
  readonly pages: readonly Page[];
}

const page = (path: string, title: string, about: string): Page => ({ path, title, about });

const summary =
  'Stepwell runs durable workflows in your own AWS account. A workflow is a graph, or an async function in TypeScript. ' +
  'Stepwell records each step of a run before the next step begins, so a run survives crashes, deployments and sleeps of a year.';

const details = `- There are no servers: API Gateway, Lambda, DynamoDB, SQS, EventBridge Scheduler and S3 do the work. AWS CDK deploys it.
- \`npm start\` runs the same CloudFormation template on this machine; \`npx stepwell\` is the command line.
- The unit of truth is the run log: a list of commits in DynamoDB, each written by one conditional put.
- Terms follow Temporal, Step Functions and SQS where they have one; the glossary has the correspondence.`;

const sections: readonly Section[] = [
  {
    title: 'Start',
    pages: [
      page('README.md', 'README', 'what Stepwell is, how to start it, and a first run'),
      page(
        'docs/TUTORIAL.md',
        'Tutorial',
        'ten minutes: publish a graph, repair a failed run, write a code workflow, survive a crash',
      ),
      page(
        'docs/GLOSSARY.md',
        'Glossary',
        'every term, with the name that Temporal, Step Functions, Inngest and OpenWorkflow use for it',
      ),
    ],
  },
  {
    title: 'Packages',
    pages: [
      page('docs/packages/stepwell.md', 'stepwell', 'the package of applications and authors: client, SDK, tests'),
      page('docs/packages/stepwell-cli.md', 'stepwell-cli', 'the package of the command line and the embedded cloud'),
      page('docs/packages/stepwell-cdk.md', 'stepwell-cdk', 'the package of the AWS CDK construct'),
    ],
  },
  {
    title: 'Guides',
    pages: [
      page('docs/guides/retries.md', 'Retries', 'retry a node or a step, and handle its failure'),
      page('docs/guides/approvals.md', 'Approvals', 'wait for a person or another system'),
      page('docs/guides/fan-out.md', 'Fan-out', 'work on many items at once, and join the results'),
      page('docs/guides/schedules.md', 'Schedules', 'start runs by cron, by rate, or at one time'),
      page('docs/guides/triggers.md', 'Triggers', 'start runs from queues, events and buckets'),
      page('docs/guides/lenses.md', 'Lenses', 'call a model with a versioned prompt'),
      page('docs/guides/local-development.md', 'Local development', 'work with the embedded cloud'),
      page('docs/guides/testing.md', 'Testing', 'test a graph or a code workflow'),
      page('docs/guides/deploying.md', 'Deploying', 'put an installation and your code into an AWS account'),
      page('docs/guides/operating.md', 'Operating', 'find stuck, failing and slow runs, and repair them'),
    ],
  },
  {
    title: 'Writing workflows',
    pages: [
      page('docs/NODES.md', 'Nodes', 'every node type of a graph, with its settings, output and a tested example'),
      page('examples/README.md', 'Examples', 'graphs with their pictures, inputs and results; a test runs each'),
      page('docs/LENSES.md', 'Lenses', 'prompt templates with contracts, and the configuration of models'),
      page('docs/SDK.md', 'Code workflows', 'the TypeScript SDK: steps, sleeps, signals, child runs, rollbacks, replay rules'),
      page('docs/DEVKIT.md', 'Workflow DevKit', 'deploy and run apps of the Workflow DevKit, the package workflow'),
      page('docs/OPENWORKFLOW.md', 'OpenWorkflow', 'run programs that were written for the package openworkflow'),
      page('docs/DEVKIT.md', 'Workflow DevKit', 'deploy, run and watch apps of the package workflow'),
      page('docs/DEPLOYMENTS.md', 'Artifacts', 'deploy a bundle that answers HTTP messages'),
    ],
  },
  {
    title: 'Calling Stepwell',
    pages: [
      page('docs/CONSOLE.md', 'Console', 'runs in the browser: why each one waits or failed, and its repair'),
      page('docs/API.md', 'HTTP API', 'every route with an example, its response and its error codes'),
      page('docs/CLIENT.md', 'Typed client', 'the client for Node: types, retries, waiting for the end of a run'),
      page('docs/CLI.md', 'Command line', 'every command of `stepwell`, as one session'),
      page('docs/EVENTS.md', 'Events', 'what Stepwell publishes to its EventBridge bus'),
      page('docs/SOCKETS.md', 'Sockets', 'watch runs over a WebSocket'),
    ],
  },
  {
    title: 'Operating',
    pages: [
      page('docs/DEPLOY.md', 'Deploy', 'stacks, settings, cost, upgrades, and what has been checked without an account'),
      page('docs/SECURITY.md', 'Security', 'who is trusted with what, keys, roles, and what is not protected'),
      page('docs/LIMITS.md', 'Limits', 'every limit with its value, its effect and where it is defined'),
      page('docs/RUNBOOK.md', 'Runbook', 'a page for each alarm'),
      page('docs/METRICS.md', 'Metrics', 'CloudWatch metrics of runs and nodes'),
      page('docs/TRACES.md', 'Traces', 'OpenTelemetry traces of ended runs'),
      page('docs/OWNERSHIP.md', 'Ownership', 'verify that traffic reaches the host that executes the runs'),
      page('docs/TROUBLESHOOTING.md', 'Troubleshooting', 'symptoms, causes and repairs'),
    ],
  },
  {
    title: 'How it is built',
    pages: [
      page('docs/ARCHITECTURE.md', 'Architecture', 'functions, queues, tables, invariants and modules'),
      page('docs/CONFORMANCE.md', 'Conformance', 'the topologies that define the meaning of a graph'),
      page('docs/PROOF.md', 'Proof', 'results of the simulation, the planted bugs and the crash matrix'),
      page('docs/MODEL.md', 'Model', 'the protocol in Quint, and what it found'),
      page('docs/BENCH.md', 'Bench', 'what a run costs and how fast it is'),
      page('CONTRIBUTING.md', 'Contributing', 'where a change goes, and how to test it'),
    ],
  },
];

/** Pages that only list other pages. */
const lists = ['docs/guides/README.md', 'docs/decisions/README.md'];

export interface Documents {
  /** paths of every document, relative to the root */
  readonly paths: readonly string[];
  readonly read: (path: string) => string;
}

export function llmsFiles({ paths, read }: Documents): ReadonlyMap<string, string> {
  const listed = [...sections, { title: 'Optional', pages: decisionPages(read('docs/decisions/README.md')) }];
  const pages = listed.flatMap((section) => section.pages);
  const missing = paths.filter((path) => !lists.includes(path) && !pages.some((each) => each.path === path));
  if (missing.length > 0)
    throw new Error(`scripts/documents/llms.ts names no section for ${missing.join(', ')}: add a line there`);
  return new Map([
    ['llms.txt', listText(listed)],
    ['llms-full.txt', fullText(pages, read)],
  ]);
}

const head = `# Stepwell\n\n> ${summary}\n\n${details}\n`;

const listText = (listed: readonly Section[]): string =>
  [head, ...listed.map(({ title, pages }) => `## ${title}\n\n${pages.map(lineOf).join('\n')}\n`)].join('\n');
const lineOf = ({ path, title, about }: Page): string => `- [${title}](${path}): ${about}`;

const fullText = (pages: readonly Page[], read: Documents['read']): string =>
  [head, ...pages.map(({ path }) => `<!-- ${path} -->\n\n${read(path).trim()}\n`)].join('\n');

/** The rows of the list of decisions: `| [name](file) | decision |`. */
const decisionPages = (list: string): readonly Page[] =>
  [...list.matchAll(/^\| \[([^\]]+)\]\(([^)]+)\) +\| (.+?) +\|$/gm)].map(([, name = '', file = '', about = '']) =>
    page(`docs/decisions/${file}`, name, about),
  );
