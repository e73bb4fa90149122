import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { alarmEntries } from '../../lib/constructs/alarm-list.ts';
import { anchor } from '../../lib/constructs/alarms.ts';
import { emptyBundles, ofType, synthesize } from './synthesized.ts';

const runbook = readFileSync(new URL('../../docs/RUNBOOK.md', import.meta.url), 'utf8');
const [, ...pages] = runbook.split(/^## /m);
const headings = pages.map((page) => page.split('\n')[0]);

const { runtime } = synthesize();
const alarms = ofType(runtime, 'CloudWatch::Alarm');

test('every alarm has its page in the runbook, and every page its alarm', () => {
  expect(headings).toEqual(alarmEntries.map(({ heading }) => heading));
  expect(new Set(headings).size).toBe(headings.length);
});

test('every page says what happened, where to look and what to do', () => {
  for (const page of pages) {
    const [, ...parts] = page.split(/^### /m);
    const titles = parts.map((part) => part.split('\n')[0]);
    expect(titles, page.slice(0, 40)).toEqual(['Description', 'Investigation', 'Resolution']);
    for (const part of parts) expect(part.split('\n').slice(1).join('').trim().length, part).toBeGreaterThan(40);
  }
});

test('every alarm is deployed, with the reason for its line and the place of its page', () => {
  expect(alarms.map(({ id }) => id.replace(/^StepwellAlarms|[0-9A-F]{8}$/g, ''))).toEqual(alarmEntries.map(({ name }) => name));
  for (const [index, { heading, reason, threshold }] of alarmEntries.entries()) {
    expect(alarms[index]?.Properties, heading).toMatchObject({
      AlarmDescription: `${heading}. ${reason} docs/RUNBOOK.md#${anchor(heading)}`,
      Threshold: threshold,
    });
  }
});

test('an alarm for too little takes silence for trouble, every other one takes it for peace', () => {
  for (const { id, Properties } of alarms) {
    const below = id.includes('SweepStandsStill');
    expect(Properties, id).toMatchObject({
      TreatMissingData: below ? 'breaching' : 'notBreaching',
      ComparisonOperator: below ? 'LessThanThreshold' : 'GreaterThanOrEqualToThreshold',
    });
  }
});

test('the alarm for dead letters looks at every dead-letter queue', () => {
  const alarm = alarms.find(({ id }) => id.startsWith('StepwellAlarmsDeadLetters'));
  const watched = JSON.stringify(alarm?.Properties['Metrics']).match(/StepwellQueues\w+DeadLetters[0-9A-F]{8}/g);
  const deadLetters = ofType(runtime, 'SQS::Queue').filter(({ id }) => id.includes('DeadLetters'));
  expect(watched).toEqual(deadLetters.map(({ id }) => id));
});

test('a topic is told of every alarm and of its end', () => {
  const alarmTopicArn = 'arn:aws:sns:eu-west-1:111122223333:on-call';
  const told = ofType(synthesize({ alarmTopicArn }).runtime, 'CloudWatch::Alarm');
  expect(told).toHaveLength(alarmEntries.length);
  for (const { id, Properties } of told) {
    expect(Properties, id).toMatchObject({ AlarmActions: [alarmTopicArn], OKActions: [alarmTopicArn] });
  }
});

test('what is not deployed is not watched', () => {
  const { runtime: resources } = synthesize({}, emptyBundles(['api', 'worker']));
  const names = ofType(resources, 'CloudWatch::Alarm').map(({ id }) => id);
  expect(names.filter((id) => /Sweep|Collect|DeadLetterErrors|Watchers/.test(id))).toEqual([]);
});
