package evidence

// Ungrounded is what Read finds ungrounded.
var Ungrounded = ungrounded
