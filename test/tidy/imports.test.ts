/** Every import follows the module rules (`module-rules.ts`). Planted violations prove that the check can fail. */
import { describe, expect, test } from 'vitest';
import { importsOf, moduleOf, violationsOf } from './imports.ts';
import { type ModuleName, baseModule, isModule, modules, rootModules, wiringOnly } from './module-rules.ts';
import { type SourceFile, filesBelow, foldersIn } from './source-files.ts';

const files = filesBelow(['lib', 'functions', 'bin', 'scripts'], ['.ts', '.tsx', '.mts', '.mjs', '.js']);
const names = Object.keys(modules).filter(isModule);

test('every import follows the module rules', () => {
  expect(violationsOf(files)).toEqual([]);
});

test('the check reads every module, and most files import something', () => {
  expect(files.length).toBeGreaterThan(150);
  expect(new Set(files.map(({ path }) => moduleOf(path)))).toEqual(new Set(names));
  expect(files.filter((file) => importsOf(file).length > 0).length).toBeGreaterThan(files.length * 0.8);
});

test('every folder of lib has module rules, and every module exists', () => {
  const inLib = names.filter((name) => !rootModules.includes(name));
  expect(foldersIn('lib').toSorted()).toEqual(inLib.toSorted());
});

const file = (path: string, text: string): SourceFile => ({ path, text });
const inModule = (module: ModuleName, text: string): SourceFile =>
  file(rootModules.includes(module) ? `${module}/planted.ts` : `lib/${module}/planted.ts`, text);
const found = (path: string, text: string): number => violationsOf([file(path, text)]).length;

describe('a planted violation is found', () => {
  test.each([
    ['a value', "import { z } from '../../ports/clock.ts';"],
    ['a type', "import type { Clock } from '../../ports/clock.ts';"],
    ['an inline type', "import { type Clock } from '../../ports/clock.ts';"],
    ['all of it', "import * as clock from '../../ports/clock.ts';"],
    ['over several lines', "import {\n  type Clock,\n  other,\n} from '../../ports/clock.ts';"],
    ['re-exported', "export { systemClock } from '../../ports/clock.ts';"],
    ['all of it re-exported', "export * from '../../ports/clock.ts';"],
    ['a type re-exported', "export type { Clock } from '../../ports/clock.ts';"],
    ['for its side effect', "import '../../ports/clock.ts';"],
    ['at run time', "const clock = await import('../../ports/clock.ts');"],
    ['a type in place', "const clock: import('../../ports/clock.ts').Clock = own;"],
    ['by require', "const clock = require('../../ports/clock.ts');"],
    ['with double quotes', 'import { z } from "../../ports/clock.ts";'],
    ['through a longer path', "import { z } from '../../../lib/engine/../ports/clock.ts';"],
    [
      'behind another import',
      "import { a } from './a.ts';\nimport { b } from './b.ts';\nimport { z } from '../../ports/clock.ts';",
    ],
    ['a package', "import * as z from 'zod';"],
    ['a type of a package', "import type { ZodType } from 'zod';"],
    ['a part of a package', "import { z } from 'zod/v4';"],
    ['a module of Node', "import { readFileSync } from 'node:fs';"],
    ['a module of Node by its old name', "import { readFileSync } from 'fs';"],
    ['the clock', 'const now = new Date();'],
    ['the clock by another name', 'const now = performance.now();'],
    ['randomness', 'const value = Math.random();'],
    ['a timer', 'setTimeout(run, 5);'],
    ['the process', 'if (process.env.DEBUG) run();'],
  ])('%s', (_how, text) => {
    expect(found('lib/engine/graph/planted.ts', text)).toBe(1);
  });

  test('a file of no module', () => {
    expect(found('lib/attic/planted.ts', '')).toBe(1);
    expect(found('lib/functions/planted.ts', '')).toBe(1);
    expect(found('engine/planted.ts', '')).toBe(1);
  });

  test('an adapter named outside a wiring file', () => {
    const text = "import { Table } from '../../lib/aws/table.ts';";
    expect([found('functions/worker/handler.ts', text), found('functions/worker/wiring.ts', text)]).toEqual([1, 0]);
  });

  test.each([
    ['the service reaches for an adapter', 'lib/service/runs/start-run.ts', "import { Table } from '../../aws/table.ts';"],
    [
      'the service reaches for a node type',
      'lib/service/kinds/graph/run-node.ts',
      "import { catalogue } from '../../../nodes/catalogue.ts';",
    ],
    ['the service reaches for HTTP', 'lib/service/runs/start-run.ts', "import { routes } from '../../api/routes.ts';"],
    [
      'a module other than aws calls AWS',
      'lib/service/run-log/append.ts',
      "import { DynamoDBClient } from '@aws-sdk/client-dynamodb';",
    ],
    ['a handler calls AWS directly', 'functions/api/handler.ts', "import type { SQSClient } from '@aws-sdk/client-sqs';"],
    ['a stack knows a handler’s code', 'lib/stacks/app.ts', "import { handler } from '../../functions/api/handler.ts';"],
    ['a construct imports a use case', 'lib/constructs/functions.ts', "import { startRun } from '../service/runs/start-run.ts';"],
    [
      'the embedded cloud knows a handler’s code',
      'lib/local/main.ts',
      "import { handler } from '../../functions/api/handler.ts';",
    ],
    ['the embedded cloud builds the template itself', 'lib/local/main.ts', "import { addStacks } from '../stacks/app.ts';"],
    ['the embedded cloud calls a use case', 'lib/local/main.ts', "import { startRun } from '../service/runs/start-run.ts';"],
    ['an adapter calls a use case', 'lib/memory/jobs.ts', "import { runNode } from '../service/execution/run-node.ts';"],
  ])('%s', (_what, path, text) => {
    expect(found(path, text)).toBe(1);
  });

  test('every import that the module rules do not list', () => {
    for (const own of names) {
      for (const target of names) {
        const up = rootModules.includes(own) ? '..' : '../..';
        const path = rootModules.includes(target) ? `${up}/${target}/x.ts` : `${up}/lib/${target}/x.ts`;
        const isAllowed = own === target || target === baseModule || modules[own].modules.includes(target);
        const isForWiring = wiringOnly[own]?.includes(target) === true;
        expect([own, target, violationsOf([inModule(own, `import type { X } from '${path}';`)]).length]).toEqual([
          own,
          target,
          isAllowed && !isForWiring ? 0 : 1,
        ]);
      }
    }
  });
});

test('allowed imports, comments and strings are not violations', () => {
  const innocent = [
    file('lib/engine/graph/a.ts', "import { b } from './b.ts';\nexport * from '../ids.ts';"),
    file('lib/engine/graph/a.ts', "/** import * as z from 'zod'; and new Date() */\n// import fs from 'node:fs'; Math.random()"),
    file('lib/engine/graph/a.ts', "const text = 'Date';\nconst update = candidate;"),
    file('lib/engine/time.ts', 'const iso = (at: number) => new Date(at).toISOString();'),
    file(
      'lib/codec/a.ts',
      "import * as z from 'zod';\nimport { gzipSync } from 'node:zlib';\nimport type { A } from '../ports/a.ts';",
    ),
    file('lib/aws/a.ts', "import { SQSClient } from '@aws-sdk/client-sqs';"),
    file('lib/local/set-up.ts', "import { DynamoDBClient } from '@aws-sdk/client-dynamodb';"),
    file(
      'functions/a/handler.ts',
      "import { startRun } from '../../lib/service/runs/start-run.ts';\nimport { a } from '../wiring.ts';",
    ),
    file('lib/stacks/a.ts', "import { Stack } from 'aws-cdk-lib';\nimport { Role } from 'aws-cdk-lib/aws-iam';"),
  ];
  expect(violationsOf(innocent)).toEqual([]);
});

test('a package whose name begins like an allowed one is another package', () => {
  expect(found('lib/codec/a.ts', "import { z } from 'zodiac';")).toBe(1);
  expect(found('lib/aws/a.ts', "import { z } from '@aws-sdk-fake/client';")).toBe(1);
  expect(found('lib/codec/a.ts', "import { z } from 'node:zlibrary';")).toBe(1);
});
