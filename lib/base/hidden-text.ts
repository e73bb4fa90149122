/** In place of a text that a response must have, for a caller without the scope `payloads:read`. */
export const hiddenText = 'hidden: payloads:read is required';
