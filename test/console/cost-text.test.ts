import { expect, test } from 'vitest';
import { bytesText, dollarsText } from '../../lib/console/run/cost-text.ts';

test.each([
  [0, '$0'],
  [0.000_021_4, '$0.000021'],
  [0.000_000_625, '$0.00000063'],
  [0.5, '$0.50'],
  [12.3456, '$12.35'],
])('%d dollars are %s', (dollars, text) => expect(dollarsText(dollars)).toBe(text));

test.each([
  [0, '0 bytes'],
  [1_023, '1023 bytes'],
  [1_536, '1.5 KB'],
  [5_242_880, '5.0 MB'],
])('%d bytes are %s', (bytes, text) => expect(bytesText(bytes)).toBe(text));
