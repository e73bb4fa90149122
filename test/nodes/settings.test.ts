import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../lib/engine/json.ts';
import { found, policyFor } from './given.ts';

it('a node without settings has the defaults of the DAG document', () => {
  expect(policyFor({})).toEqual({
    joinMode: 'all',
    errorHandling: 'continue',
    onParentFailure: 'skip',
    merge: 'last_write_wins',
    retry: {
      attempts: 3,
      backoffMs: 1_000,
      maxBackoffMs: 8_000,
      retryOn: ['error', 'timeout', 'provider_error', 'rate_limit', 'lost'],
      jitter: 'none',
    },
    timeoutMs: 30_000,
    isDisabled: false,
  });
});

it('the names of both documents are equivalent', () => {
  const camel = policyFor({
    title: 'a',
    description: 'b',
    outputVariable: 'total',
    timeoutMs: 5_000,
    errorHandling: 'fail_workflow',
    isDisabled: true,
    joinMode: 'any',
    onParentFailure: 'propagate',
    merge: 'concat',
    retry: { attempts: 5, backoffMs: 10, maxBackoffMs: 20, retryOn: ['timeout', 'contract_violated'] },
  });
  const snake = policyFor({
    output_variable: 'total',
    timeout_ms: 5_000,
    error_handling: 'retry_then_fail',
    is_disabled: true,
    join_mode: 'any',
    on_parent_failure: 'propagate',
    merge: 'concat',
    retry: { attempts: 5, backoff_ms: 10, max_backoff_ms: 20, retry_on: ['timeout', 'contract_violated'] },
  });
  expect(camel).toEqual(snake);
  expect(camel).toMatchObject({
    outputVariable: 'total',
    errorHandling: 'fail_workflow',
    retry: { attempts: 5, maxBackoffMs: 20 },
  });
});

it('timeoutSeconds is in seconds, and the older failure modes keep their meaning', () => {
  expect(policyFor({ timeoutSeconds: 2.5 }).timeoutMs).toBe(2_500);
  expect(policyFor({ timeout_ms: 250 }).timeoutMs).toBe(250);
  expect(policyFor({ errorHandling: 'retry_then_continue' }).errorHandling).toBe('continue');
});

it('types have a default output variable, and the author’s name overrides it', () => {
  expect(policyFor({}, 'javascript').outputVariable).toBe('jsResult');
  expect(policyFor({}, 'http').outputVariable).toBe('httpResponse');
  expect(policyFor({ outputVariable: 'mine' }, 'javascript').outputVariable).toBe('mine');
});

describe('an invalid setting', () => {
  it.each<[JsonObject, string]>([
    [{ outputVariable: '1st' }, '/outputVariable'],
    [{ outputVariable: 'a-b' }, '/outputVariable'],
    [{ timeoutMs: 0 }, '/timeoutMs'],
    [{ timeoutMs: 840_001 }, '/timeoutMs'],
    [{ timeoutSeconds: 841 }, '/timeoutSeconds'],
    [{ timeoutSeconds: '30' }, '/timeoutSeconds'],
    [{ errorHandling: 'ignore' }, '/errorHandling'],
    [{ isDisabled: 'yes' }, '/isDisabled'],
    [{ joinMode: 'some' }, '/joinMode'],
    [{ on_parent_failure: 'shrug' }, '/on_parent_failure'],
    [{ merge: 'zip' }, '/merge'],
    [{ retry: 3 }, '/retry'],
    [{ retry: { attempts: 0 } }, '/retry/attempts'],
    [{ retry: { backoff_ms: -1 } }, '/retry/backoff_ms'],
    [{ retry: { retryOn: ['forbidden'] } }, '/retry/retryOn/0'],
    [{ joinMode: 'any', join_mode: 'all' }, '/join_mode'],
    [{ timeoutMs: 5_000, timeoutSeconds: 5 }, '/timeoutSeconds'],
  ])('%j is a finding with its path', (config, place) => {
    expect(found('start', config)).toEqual([`config_invalid /nodes/0/config${place}`]);
  });

  it('keeps its default and does not affect the others', () => {
    expect(policyFor({ joinMode: 'some', timeoutMs: 2_000, retry: { attempts: 0, backoffMs: 7 } })).toMatchObject({
      joinMode: 'all',
      timeoutMs: 2_000,
      retry: { attempts: 3, backoffMs: 7 },
    });
  });
});

it('the bounds are inclusive', () => {
  expect(found('start', { timeout_ms: 1, retry: { attempts: 100 } })).toEqual([]);
  expect(found('start', { timeoutSeconds: 840, retry: { attempts: 1 } })).toEqual([]);
});

it('allSucceeded never runs after a failed parent, so a default for one is refused', () => {
  const place = 'config_invalid /nodes/0/config/onParentFailure';
  expect(found('start', { joinMode: 'allSucceeded', onParentFailure: 'substitute_default' })).toEqual([place]);
  expect(found('start', { join_mode: 'allSucceeded', onParentFailure: 'propagate' })).toEqual([]);
});
