/** An error as data: of one that is sent to another thread only the message would arrive. */
export interface Thrown {
  code?: string;
  message: string;
  details?: unknown;
  stack?: string;
}

/**
 * Reads by shape what a plugin has thrown: it may have its own copy of a class, or throw anything at all, also what throws
 * again where it is read. The log must never meet that itself.
 */
export function readThrown(thrown: unknown): Thrown {
  try {
    return read(thrown);
  } catch {
    return { message: 'something was thrown that cannot be read' };
  }
}

function read(thrown: unknown): Thrown {
  if (typeof thrown !== 'object' || thrown === null) return { message: String(thrown) };
  const { code, message, details, stack } = thrown as Record<string, unknown>;
  return {
    ...(typeof code === 'string' ? { code } : {}),
    // What comes from Node's loader thread has lost its message on Node 20.
    message: String(message ?? code),
    ...(Array.isArray(details) ? { details: JSON.parse(JSON.stringify(details)) } : {}),
    ...(typeof stack === 'string' ? { stack } : {}),
  };
}
