/** The last message of an answer that is a stream of events, as a document, for a client that reads none: it is the answer. */
export async function withoutStream(response: Response): Promise<Response> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
  // JSON may hold U+2028, at which a stream's line does not end, though a pattern's `.` would.
  const data = [...(await response.text()).matchAll(/^data: ?(\S[^\r\n]*)/gm)].at(-1)?.[1];
  return new Response(data, { status: response.status, headers: { 'content-type': 'application/json' } });
}
