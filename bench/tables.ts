/** Formats the measurements as text. */
import { type Bill, lineKinds, total } from './bill.ts';
import { type BundleSize, maxBytesOf } from './bundles.ts';
import type { Latencies } from './latency.ts';
import type { LongRun } from './long-runs.ts';
import type { LoopCommits } from './loop-commits.ts';
import { dollarsPerMillionRuns, throughStartApi, timeDollarsPerMillionRuns } from './prices.ts';
import { quantilesOf } from './quantiles.ts';

/** Aligned columns: the first left, the others right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_cell, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const aligned = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return rows.map((row) => `  ${row.map(aligned).join('  ')}`.trimEnd()).join('\n');
}

const milliseconds = (value: number): string => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
const amount = (value: number): string => (Number.isInteger(value) ? String(value) : value.toFixed(1));

export interface NamedBill {
  readonly name: string;
  readonly bill: Bill;
}

/** A column for each bill, a row for each part with a cost. */
export function billTable(bills: readonly NamedBill[]): string {
  const kinds = lineKinds.filter((kind) => kind !== 'gbSeconds' && kind !== 'emptyReceives');
  const rows = kinds.flatMap((kind) => {
    const parts = [...new Set(bills.flatMap(({ bill }) => Object.keys(bill[kind])))].toSorted();
    if (parts.length === 0) return [];
    const sums = [kind, ...bills.map(({ bill }) => amount(total(bill[kind])))];
    return [
      sums,
      ...(parts.length === 1
        ? []
        : parts.map((part) => [`  ${part}`, ...bills.map(({ bill }) => amount(bill[kind][part] ?? 0))])),
    ];
  });
  return table([['', ...bills.map(({ name }) => name)], ...rows]);
}

export function dollarTable(bills: readonly NamedBill[]): string {
  const columns = bills.map(({ name, bill }) => ({
    name,
    dollars: dollarsPerMillionRuns(bill),
    cheaper: dollarsPerMillionRuns(throughStartApi(bill)),
    time: timeDollarsPerMillionRuns(bill),
  }));
  const kinds = columns[0]?.dollars.map(({ kind }) => kind) ?? [];
  const dollars = (value: number): string => value.toFixed(2);
  const sum = (lines: ReturnType<typeof dollarsPerMillionRuns>): string =>
    dollars(lines.reduce((all, line) => all + line.dollars, 0));
  return table([
    ['', ...columns.map(({ name }) => name)],
    ...kinds.map((kind) => [
      kind,
      ...columns.map((one) => dollars(one.dollars.find((line) => line.kind === kind)?.dollars ?? 0)),
    ]),
    ['all requests, through the REST API', ...columns.map((one) => sum(one.dollars))],
    ['all requests, through the start API', ...columns.map((one) => sum(one.cheaper))],
    ['functions, at the times of this machine', ...columns.map(({ time }) => dollars(time))],
  ]);
}

/** Times compared with the bare put of the same bench run. */
const timesTable = (rows: readonly (readonly [string, readonly number[]])[], bareMs: readonly number[]): string => {
  const bare = quantilesOf(bareMs);
  const row = ([name, values]: readonly [string, readonly number[]]): readonly string[] => {
    const { count, p50, p99, max } = quantilesOf(values);
    return [name, String(count), milliseconds(p50), milliseconds(p99), milliseconds(max), (p50 / bare.p50).toFixed(1)];
  };
  const head = ['', 'measured', 'p50', 'p99', 'most', 'in bare puts'];
  return table([head, ...[...rows, ['a bare conditional put', bareMs] as const].map(row)]);
};

/** @param packed runs whose nodes share commits */
export const latencyTable = (packed: Latencies, effects: Latencies, bareMs: readonly number[]): string =>
  timesTable(
    [
      ['whole run', packed.runMs],
      ['whole run, nodes with side effects', effects.runMs],
      ['one node to the next, with side effects', effects.nodeMs],
    ],
    bareMs,
  );

export const loopTable = (loops: readonly LoopCommits[]): string =>
  table([
    ['iterations at a time', 'commits', 'write units'],
    ...loops.map(({ concurrency, commits, writeUnits }) => [String(concurrency), commits.toFixed(3), writeUnits.toFixed(3)]),
  ]);

export const longTable = (runs: readonly LongRun[]): string =>
  table([
    ['nodes', 'whole run', 'first tenth', 'last tenth', 'last by first'],
    ...runs.map(({ nodes, allMs, firstMs, lastMs }) => [
      String(nodes),
      ...[allMs, firstMs, lastMs].map(milliseconds),
      (lastMs / firstMs).toFixed(2),
    ]),
  ]);

export const startTable = (startMs: readonly number[], bareMs: readonly number[]): string =>
  timesTable([['POST /v1/runs', startMs]], bareMs);

export const wordTable = (wordMs: readonly number[], bareMs: readonly number[]): string =>
  timesTable([['from a node to its reader', wordMs]], bareMs);

export function bundleTable(sizes: readonly BundleSize[]): string {
  const kilobytes = (bytes: number): string => `${Math.ceil(bytes / 1_024)} KB`;
  const sizeLabel = ({ name, handlerBytes }: BundleSize): string =>
    `${handlerBytes <= maxBytesOf(name) ? 'within' : 'MORE THAN'} ${kilobytes(maxBytesOf(name))}`;
  return table([
    ['', 'handler', 'whole asset', ''],
    ...sizes.map((size) => [size.name, kilobytes(size.handlerBytes), kilobytes(size.assetBytes), sizeLabel(size)]),
  ]);
}
