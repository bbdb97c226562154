/** The most rows of one kind that a transaction writes or deletes: no other user of the database waits long for it. */
export const rowsAPiece = 1_000;
