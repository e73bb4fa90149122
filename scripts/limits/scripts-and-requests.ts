/** Limits of scripts, conditions and HTTP requests of nodes. */
import { firstTimeSlice, provenTimeSlice, repeatTimeSlice } from '../../lib/engine/fair-shares.ts';
import { regexLimits } from '../../lib/nodes/condition/operators.ts';
import { expressionLimitMs } from '../../lib/nodes/condition/run.ts';
import { maxBodyExcerpt } from '../../lib/nodes/http/response.ts';
import { shownRequestLimits } from '../../lib/nodes/http/shown-request.ts';
import { maxRetryAfterMs } from '../../lib/egress/retry-after.ts';
import { maxPrivateDestinationCharacters, maxPrivateDestinations } from '../../lib/api/schemas/private-destinations.ts';
import { requestLimits } from '../../lib/nodes/http/shape.ts';
import { defaultScriptMemoryBytes } from '../../lib/nodes/runners.ts';
import { scriptLimits } from '../../lib/nodes/sandbox/script.ts';
import { stackBytes } from '../../lib/nodes/sandbox/script-machine.ts';
import { type LimitSection, bytes, characters, count, hours, milliseconds, phrase, seconds } from './limit.ts';

export const scriptsAndRequests: LimitSection = {
  title: 'Scripts, conditions and HTTP requests',
  per: 'attempt',
  limits: [
    {
      name: 'Time of an expression',
      value: seconds(expressionLimitMs),
      per: 'expression',
      atLimit: 'the node ends with the cause `timeout` and code `script_timeout`',
      definedIn: ['lib/nodes/condition/run.ts'],
    },
    {
      name: 'First slice of a node',
      value: milliseconds(firstTimeSlice),
      atLimit:
        'processor time of all scripts of an attempt. Then the attempt starts again in the slow lane of its project, with its own limit',
      definedIn: ['lib/engine/fair-shares.ts'],
    },
    {
      name: 'Slice of a proven node',
      value: milliseconds(provenTimeSlice),
      atLimit:
        'the last script of the node in the same warm worker ended within this time, in the slow lane or outside it. After an overrun the node gets a first slice',
      definedIn: ['lib/engine/fair-shares.ts'],
    },
    {
      name: 'Slice after an overrun',
      value: milliseconds(repeatTimeSlice),
      atLimit:
        'a script of the node exceeded its slice in the same warm worker, and the node was not proven. It holds until one of its scripts ends within the slice of a proven node',
      definedIn: ['lib/engine/fair-shares.ts'],
    },
    {
      name: 'Memory of a script',
      value: bytes(defaultScriptMemoryBytes),
      per: 'script',
      atLimit: '`memory_exceeded`, cause `error`',
      definedIn: ['lib/nodes/runners.ts'],
    },
    {
      name: 'Stack of a script',
      value: bytes(stackBytes),
      per: 'script',
      atLimit: '`recursion_exceeded`, cause `error`',
      definedIn: ['lib/nodes/sandbox/script-machine.ts'],
    },
    {
      name: 'Result of a script',
      value: bytes(scriptLimits.outputBytes),
      per: 'script',
      atLimit: '`output_too_large`, cause `invalid`; never retried',
      definedIn: ['lib/nodes/sandbox/script.ts'],
    },
    {
      name: 'Text it is matched against',
      value: characters(regexLimits.text),
      per: 'comparison',
      atLimit: 'the regular expression matches nothing',
      definedIn: ['lib/nodes/condition/operators.ts'],
    },
    {
      name: 'Private destinations',
      value: phrase`${count(maxPrivateDestinations)}; ${characters(maxPrivateDestinationCharacters)} together`,
      atLimit: 'the synthesis stops. Name a network instead of its hosts',
      definedIn: ['lib/api/schemas/private-destinations.ts'],
    },
    {
      name: 'Redirects of a request',
      value: count(requestLimits.redirects),
      atLimit: '`too_many_redirects`, cause `invalid`',
      definedIn: ['lib/nodes/http/shape.ts'],
    },
    {
      name: 'Body of an answer',
      value: phrase`${bytes(requestLimits.responseBytes.standard)}, at most ${bytes(requestLimits.responseBytes.max)}`,
      atLimit: '`response_too_large`, cause `invalid`',
      definedIn: ['lib/nodes/http/shape.ts'],
    },
    {
      name: 'Body kept of a failed request',
      value: characters(maxBodyExcerpt),
      atLimit: 'Stepwell drops the rest',
      definedIn: ['lib/nodes/http/response.ts'],
    },
    {
      name: 'Sent body kept of a failed request',
      value: characters(shownRequestLimits.body),
      atLimit: 'Stepwell drops the rest',
      definedIn: ['lib/nodes/http/shown-request.ts'],
    },
    {
      name: 'Wait that a server requests',
      value: hours(maxRetryAfterMs),
      atLimit: 'a longer `Retry-After` counts as 24 hours',
      definedIn: ['lib/egress/retry-after.ts'],
    },
  ],
  outro: [
    'After their slices, the slow scripts of a project use at most half of the workers, and those of one workflow about a quarter. Further slow scripts wait, and the sweep may redispatch them meanwhile. With a single worker, all scripts share it. [fair-shares](decisions/fair-shares.md) explains this.',
    'A script has no `await`, no modules, no network and no clock but `Date`.',
  ],
};
